//! An error and its causes on one line, for logs and for the last word of a command.

use std::error::Error;

/// Each cause after a colon, but for one that the text before it already ends with: many libraries
/// print their cause and report it too.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let refused = std::io::Error::other("connection refused");
        let error = anyhow::Error::from(refused)
            .context("ask: connection refused")
            .context("start");
        assert_eq!(chain(error.as_ref()), "start: ask: connection refused");
        let error = anyhow::anyhow!("no such file").context("read the settings");
        assert_eq!(chain(error.as_ref()), "read the settings: no such file");
    }
}
