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
    let widths = shown().map(|(name, _)| measure_text_width(name));
    let width = widths.max().unwrap_or(0);
    for (name, value) in shown() {
        let value = color::value(name, &plain(value));
        say(format_args!("{name:<width$}{GAP}{value}"))?;
    }
    Ok(())
}

/// A field as people read it: texts without quotes, `null` as nothing.
pub(crate) fn cell(of: &Value, field: &str) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => plain(text),
        // The texts inside are as others wrote them.
        other => plain(&other.to_string()),
    };
    match &of[field] {
        Value::Null => String::new(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        other => text(other),
    }
}

/// What others wrote must not steer the terminal or deceive who reads it: characters that cannot be seen are shown, not
/// obeyed.
pub(crate) fn plain(text: &str) -> String {
    shown(text, is_hidden)
}

/// The same for a text of many lines, which keeps its line ends and tabs.
pub(crate) fn plain_lines(text: &str) -> String {
    let line = |line| shown(line, |letter| is_hidden(letter) && letter != '\t');
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether nobody sees it: a control character, a line or paragraph separator, an annotation mark, or what Unicode calls
/// ignorable (`Default_Ignorable_Code_Point`), among it all that turns the direction of writing. Emoji keep the selectors
/// U+FE00 to U+FE0F.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
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

    #[test]
    fn what_cannot_be_seen_is_shown_wherever_it_is() {
        let said = json!({
            "text": "rm\u{202e}fdp.exe",
            "list": ["a\u{200b}b", {"c": "\u{2066}"}],
            "object": {"to": "Ann\u{ad}\u{e0041}"},
            "words": "größer 日本 👍\u{fe0f}",
        });
        assert_eq!(cell(&said, "text"), "rm\\u{202e}fdp.exe");
        assert_eq!(cell(&said, "list"), r#"a\u{200b}b, {"c":"\u{2066}"}"#);
        assert_eq!(cell(&said, "object"), r#"{"to":"Ann\u{ad}\u{e0041}"}"#);
        assert_eq!(cell(&said, "words"), "größer 日本 👍\u{fe0f}");
        assert_eq!(
            plain_lines("a\u{2028}b\n\u{feff}c"),
            "a\\u{2028}b\n\\u{feff}c"
        );
    }
}
