//! The history of measurements, `bench/history.json`, as the page about performance shows it: one chart, and a table of the
//! newest entry.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use anyhow::Context as _;
use serde::Deserialize;

const HISTORY: &str = "bench/history.json";
pub(crate) const CHART: &str = "docs/images/performance.svg";
pub(crate) const PAGE: &str = "docs/explanation/performance.md";
/// The table stands between these on the page, whose other text is written by people.
const BEGINS: &str =
    "<!-- What follows is written by `cargo xtask generate` from bench/history.json. -->\n";
const ENDS: &str = "<!-- Until here. -->\n";
/// The newest entries are drawn, and no more: what is older is in the file.
const DRAWN_MAX: usize = 20;

/// A figure that is drawn: where it is in an entry, and what people call it.
struct Drawn {
    profile: &'static str,
    what: &'static str,
    title: &'static str,
    good: Good,
}

#[derive(Clone, Copy)]
enum Good {
    High,
    Low,
}

const DRAWN: [Drawn; 8] = [
    Drawn {
        profile: "ingest",
        what: "1 a request, 1 in flight, of bare",
        title: "Ingest, one event alone, of a bare publish",
        good: Good::High,
    },
    Drawn {
        profile: "ingest",
        what: "100 a request, 16 in flight, of bare",
        title: "Ingest, 100 a request, of a bare publish",
        good: Good::High,
    },
    Drawn {
        profile: "ingest",
        what: "1000 a request, 16 in flight, of bare",
        title: "Ingest, 1,000 a request, of a bare publish",
        good: Good::High,
    },
    Drawn {
        profile: "index",
        what: "backlog with counts, of bare COPY",
        title: "Index with counts, of a bare COPY",
        good: Good::High,
    },
    Drawn {
        profile: "trail",
        what: "export, NDJSON",
        title: "Export, of a bare COPY TO",
        good: Good::High,
    },
    Drawn {
        profile: "decide",
        what: "p50 beside echo + acknowledgment",
        title: "A decision, in echoes and acknowledgments",
        good: Good::Low,
    },
    Drawn {
        profile: "deliver",
        what: "drained, of bare POSTs",
        title: "Deliveries from a queue, of bare POSTs",
        good: Good::High,
    },
    Drawn {
        profile: "deliver",
        what: "5 a request, of bare POSTs",
        title: "Deliveries from the door, of bare POSTs",
        good: Good::High,
    },
];

#[derive(Deserialize)]
pub(crate) struct Entry {
    commit: String,
    date: String,
    machine: Machine,
    build: String,
    length: String,
    figures: BTreeMap<String, Vec<Line>>,
}

#[derive(Deserialize)]
struct Machine {
    cpu: String,
    cores: usize,
    memory_gib: u64,
}

#[derive(Deserialize)]
struct Line {
    what: String,
    figure: Option<f64>,
    aim: Option<Aim>,
    word: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Aim {
    AtLeast(f64),
    AtMost(f64),
}

/// The chart and the page with its table, by their paths.
pub(crate) fn pages(root: &Path) -> anyhow::Result<[(String, String); 2]> {
    let text = fs::read_to_string(root.join(HISTORY)).context("read the history")?;
    let history: Vec<Entry> = serde_json::from_str(&text).context("read the history")?;
    let page = fs::read_to_string(root.join(PAGE)).context("read the page about performance")?;
    Ok([
        (CHART.to_owned(), chart(&history)?),
        (PAGE.to_owned(), with_table(&page, history.last())?),
    ])
}

fn with_table(page: &str, newest: Option<&Entry>) -> anyhow::Result<String> {
    let (before, rest) = page.split_once(BEGINS).context("the page has a place")?;
    let (_, after) = rest.split_once(ENDS).context("the place has an end")?;
    let table = newest.map_or_else(|| Ok("Nothing was measured yet.\n".to_owned()), table)?;
    Ok(format!("{before}{BEGINS}\n{table}\n{ENDS}{after}"))
}

fn table(entry: &Entry) -> anyhow::Result<String> {
    let Machine {
        cpu,
        cores,
        memory_gib,
    } = &entry.machine;
    let mut table = format!(
        "Measured on {} at commit `{}`, built as `{}`, `bench all` at its {} length, on {cores} cores ({cpu}) and \
         {memory_gib} GiB.\n\n| profile | | figure | aim | |\n|---|---|---|---|---|\n",
        entry.date, entry.commit, entry.build, entry.length
    );
    for (profile, lines) in &entry.figures {
        for line in lines {
            let figure = line
                .figure
                .map_or_else(String::new, |figure| figure.to_string());
            let aim = line.aim.map_or(String::new(), |aim| match aim {
                Aim::AtLeast(aim) => format!("at least {aim}"),
                Aim::AtMost(aim) => format!("at most {aim}"),
            });
            let word = if line.word == "told" { "" } else { &line.word };
            let what = line.what.replace('|', "\\|");
            writeln!(table, "| {profile} | {what} | {figure} | {aim} | {word} |")?;
        }
    }
    Ok(table)
}

/// Small pictures beside each other, one for each figure: a dot for each entry, the newest with its number, and a line for
/// the aim.
fn chart(history: &[Entry]) -> anyhow::Result<String> {
    let drawn = &history[history.len().saturating_sub(DRAWN_MAX)..];
    let panels: Vec<Panel<'_>> = DRAWN.iter().map(|one| Panel::of(one, drawn)).collect();
    let rows = panels.len().div_ceil(COLUMNS);
    let (width, height) = (COLUMNS * PANEL_WIDTH, rows * PANEL_HEIGHT + 10);
    let newest = drawn.last().map_or("none", |entry| &entry.date);
    let mut told = format!("The newest of {} entries, {newest}: ", drawn.len());
    for panel in &panels {
        write!(told, "{}. ", panel.told())?;
    }
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">Watchbell beside the bare engines, entry by entry</title>\n\
         <desc id=\"desc\">{}</desc>\n{STYLE}<rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n",
        told.trim_end()
    );
    for (number, panel) in panels.iter().enumerate() {
        let (x, y) = (
            number % COLUMNS * PANEL_WIDTH,
            number / COLUMNS * PANEL_HEIGHT,
        );
        write!(
            svg,
            "<g transform=\"translate({x} {y})\">\n{}</g>\n",
            panel.drawn()
        )?;
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

const COLUMNS: usize = 2;
const PANEL_WIDTH: usize = 380;
const PANEL_HEIGHT: usize = 120;
/// Where dots are within a panel.
const LEFT: f64 = 20.0;
const RIGHT: f64 = 320.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 105.0;

/// An image follows what the reader's system prefers, light or dark; its ground does too, so it can be read on any page.
const STYLE: &str = "<style>\n\
    .ground { fill: #ffffff } text { font: 13px sans-serif; fill: #1f2328 } .aim { stroke: #9a6700; stroke-dasharray: 4 3 }\n\
    text.aim { stroke: none; fill: #9a6700; font-size: 11px } .zero { stroke: #818b98 } .line { stroke: #0969da; fill: none } circle { fill: #0969da }\n\
    @media (prefers-color-scheme: dark) {\n\
    .ground { fill: #0d1117 } text { fill: #f0f6fc } .aim { stroke: #d29922 } text.aim { fill: #d29922 } .line { stroke: #58a6ff } circle { fill: #58a6ff }\n\
    }\n</style>\n";

/// One figure, entry by entry.
struct Panel<'a> {
    drawn: &'a Drawn,
    /// `None` where an entry does not have it.
    figures: Vec<Option<f64>>,
    aim: Option<f64>,
}

impl<'a> Panel<'a> {
    fn of(drawn: &'a Drawn, history: &[Entry]) -> Self {
        let line = |entry: &'_ Entry| -> Option<(Option<f64>, Option<Aim>)> {
            let lines = entry.figures.get(drawn.profile)?;
            let line = lines.iter().find(|line| line.what == drawn.what)?;
            Some((line.figure, line.aim))
        };
        let aim = history.last().and_then(line).and_then(|(_, aim)| aim);
        Self {
            drawn,
            figures: history
                .iter()
                .map(|entry| line(entry).and_then(|(figure, _)| figure))
                .collect(),
            aim: aim.map(|aim| match aim {
                Aim::AtLeast(aim) | Aim::AtMost(aim) => aim,
            }),
        }
    }

    fn newest(&self) -> Option<f64> {
        self.figures.last().copied().flatten()
    }

    /// For who cannot see it.
    fn told(&self) -> String {
        let newest = self.newest();
        let newest = newest.map_or("not measured".to_owned(), |newest| format!("{newest:.2}"));
        let aim = self.aim.map_or(String::new(), |aim| match self.drawn.good {
            Good::High => format!(" (aim: at least {aim})"),
            Good::Low => format!(" (aim: at most {aim})"),
        });
        format!("{}: {newest}{aim}", self.drawn.title)
    }

    #[expect(clippy::cast_precision_loss, reason = "places in a picture")]
    fn drawn(&self) -> String {
        let highest = self.figures.iter().flatten().chain(&self.aim);
        let highest = highest.copied().fold(f64::MIN_POSITIVE, f64::max);
        let y = |figure: f64| BOTTOM - (BOTTOM - TOP) * figure / highest;
        let steps = self.figures.len().saturating_sub(1).max(1) as f64;
        let x = |place: usize| LEFT + (RIGHT - LEFT) * place as f64 / steps;
        let mut svg = format!(
            "<text x=\"{LEFT}\" y=\"22\">{}</text>\n<line class=\"zero\" x1=\"{LEFT}\" y1=\"{BOTTOM}\" x2=\"{RIGHT}\" y2=\"{BOTTOM}\"/>\n",
            self.drawn.title
        );
        if let Some(aim) = self.aim {
            let (at, word) = (
                y(aim),
                match self.drawn.good {
                    Good::High => "≥",
                    Good::Low => "≤",
                },
            );
            let _ = write!(
                svg,
                "<line class=\"aim\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{RIGHT}\" y2=\"{at:.1}\"/>\n\
                 <text class=\"aim\" x=\"{LEFT}\" y=\"{:.1}\">aim {word} {aim}</text>\n",
                at - 4.0
            );
        }
        let places = self.figures.iter().enumerate();
        let dots: Vec<(f64, f64)> = places
            .filter_map(|(place, figure)| Some((x(place), y((*figure)?))))
            .collect();
        let line: Vec<String> = dots.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            "<polyline class=\"line\" points=\"{}\"/>",
            line.join(" ")
        );
        for (x, y) in &dots {
            let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>");
        }
        if let (Some(newest), Some((x, y))) = (self.newest(), dots.last()) {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\">{newest:.2}</text>",
                x + 9.0,
                y + 4.0
            );
        }
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> Vec<Entry> {
        let entry = |date: &str, figure: &str| {
            format!(
                r#"{{"commit": "0123abcd", "date": "{date}", "machine": {{"cpu": "A", "cores": 2, "memory_gib": 8}},
                    "build": "release", "length": "quick", "figures": {{"index": [
                    {{"what": "backlog with counts, of bare COPY", "figure": {figure}, "aim": {{"at_least": 0.8}}, "word": "missed"}}]}}}}"#
            )
        };
        let entries = [entry("2026-11-18", "0.5"), entry("2026-11-19", "0.62")];
        serde_json::from_str(&format!("[{}]", entries.join(","))).expect("a history")
    }

    #[test]
    fn the_chart_says_in_words_what_it_draws() {
        let svg = chart(&history()).expect("a chart");
        assert!(svg.contains("<title id=\"title\">"));
        let told = "Index with counts, of a bare COPY: 0.62 (aim: at least 0.8). ";
        assert!(svg.contains(told), "{svg}");
        assert!(
            svg.contains("Export, of a bare COPY TO: not measured"),
            "{svg}"
        );
        assert_eq!(svg.matches("<circle").count(), 2, "two dots");
    }

    #[test]
    fn before_anything_was_measured_chart_and_table_say_so() {
        assert!(
            chart(&[])
                .expect("a chart")
                .contains("The newest of 0 entries")
        );
        let page = with_table(&format!("{BEGINS}{ENDS}"), None).expect("a page");
        assert!(page.contains("Nothing was measured yet."), "{page}");
    }

    #[test]
    fn the_table_takes_the_place_of_the_one_before_it() {
        let history = history();
        let page = format!("# Page\n\n{BEGINS}\nolder\n{ENDS}\nThe end.\n");
        let page = with_table(&page, history.last()).expect("a page");
        assert!(
            page.starts_with("# Page\n") && page.ends_with("\nThe end.\n"),
            "{page}"
        );
        assert!(!page.contains("older"), "{page}");
        let row = "| index | backlog with counts, of bare COPY | 0.62 | at least 0.8 | missed |";
        assert!(page.contains(row), "{page}");
        assert_eq!(with_table(&page, history.last()).expect("a page"), page);
    }
}
