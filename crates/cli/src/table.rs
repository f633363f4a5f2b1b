//! Tables for people: columns as wide as their widest cell, no frame, nothing cut.

use console::{Alignment, measure_text_width, pad_str};
use serde_json::Value;

use crate::{
    color,
    output::{Unsaid, say},
};

/// Between two columns.
const GAP: &str = "  ";

/// Rows below a line of names.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(names: [&str; N]) -> Self {
        Self {
            rows: vec![names.map(str::to_uppercase).to_vec()],
        }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// The lines, without spaces at their ends.
    fn lines(&self) -> Vec<String> {
        let columns = self.rows[0].len();
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| measure_text_width(&row[column]));
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |cells: Vec<String>| {
            let cells = cells.iter().zip(&widths);
            let cells = cells.map(|(cell, width)| pad_str(cell, *width, Alignment::Left, None));
            let line = cells.collect::<Vec<_>>().join(GAP);
            line.trim_end().to_owned()
        };
        let (names, rows) = (&self.rows[0], &self.rows[1..]);
        let heading = names.iter().map(|name| color::heading(name)).collect();
        let colored = |row: &Vec<String>| {
            let cells = names.iter().zip(row);
            line(
                cells
                    .map(|(name, cell)| color::value(&name.to_lowercase(), cell))
                    .collect(),
            )
        };
        [line(heading)]
            .into_iter()
            .chain(rows.iter().map(colored))
            .collect()
    }

    pub(crate) fn print(&self) -> Result<(), Unsaid> {
        self.lines().into_iter().try_for_each(say)
    }
}

/// Names and values below each other, for one thing.
pub(crate) fn print_pairs(pairs: &[(&str, String)]) -> Result<(), Unsaid> {
    let shown = || pairs.iter().filter(|(_, value)| !value.is_empty());
    let width = shown().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in shown() {
        let value = color::value(name, &plain(value));
        say(format_args!("{name:<width$}{GAP}{value}"))?;
    }
    Ok(())
}

/// A field as people read it: texts without quotes, `null` as nothing.
pub(crate) fn cell(of: &Value, field: &str) -> String {
    match &of[field] {
        Value::Null => String::new(),
        Value::String(text) => plain(text),
        Value::Array(items) => {
            let texts = items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), plain));
            texts.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// What others wrote must not steer the terminal: control characters are shown, not obeyed.
pub(crate) fn plain(text: &str) -> String {
    shown(text, char::is_control)
}

/// The same for a text of many lines, which keeps its line ends and tabs.
pub(crate) fn plain_lines(text: &str) -> String {
    let line = |line| shown(line, |letter| letter.is_control() && letter != '\t');
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn shown(text: &str, is_hidden: impl Fn(char) -> bool) -> String {
    if !text.chars().any(&is_hidden) {
        return text.to_owned();
    }
    let shown = |letter: char| {
        if is_hidden(letter) {
            letter.escape_default().to_string()
        } else {
            letter.to_string()
        }
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_lines_end_without_spaces() {
        console::set_colors_enabled(false);
        let mut table = Table::new(["id", "name"]);
        table.row(["evt_1".to_owned(), String::new()]);
        table.row(["e".to_owned(), "größer".to_owned()]);
        assert_eq!(table.lines(), ["ID     NAME", "evt_1", "e      größer"]);
    }

    #[test]
    fn what_others_wrote_does_not_steer_the_terminal() {
        let event = json!({"agent_id": "a\u{1b}[31m\n", "tags": ["a", 1], "none": null});
        assert_eq!(cell(&event, "agent_id"), "a\\u{1b}[31m\\n");
        assert_eq!(cell(&event, "tags"), "a, 1");
        assert_eq!(cell(&event, "none"), "");
        assert_eq!(cell(&event, "absent"), "");
        assert_eq!(plain_lines("a\r\n\tb\rc\u{1b}\n"), "a\n\tb\\rc\\u{1b}");
    }
}
