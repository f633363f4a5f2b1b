//! The commands in `watchbell --help`, grouped by what they are for; clap has only one list for all of them.

use std::fmt::Write as _;

use clap::Command;

/// Headings, and the commands below them in the order in which they are shown.
const GROUPS: [(&str, &[&str]); 3] = [
    (
        "Server",
        &[
            "dev",
            "serve",
            "migrate",
            "doctor",
            "healthcheck",
            "witness",
        ],
    ),
    (
        "Client",
        &[
            "login",
            "logout",
            "api",
            "events",
            "export",
            "trail",
            "rules",
            "deliveries",
            "endpoints",
            "decide",
            "decisions",
            "approvals",
            "policy",
            "keys",
            "secrets",
            "members",
            "listen",
            "trigger",
            "verify",
            "sign",
            "hook",
            "mcp",
            "completions",
        ],
    ),
    ("Operator", &["admin", "partitions", "dead-letters"]),
];

/// The same command line, with its commands in groups.
pub(super) fn grouped(root: Command) -> Command {
    let header = root.get_styles().get_header();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{header}Options:{header:#}\n{{options}}{{after-help}}",
        list(&root)
    );
    root.help_template(template)
}

/// A heading for each group, and a line for each command.
fn list(root: &Command) -> String {
    let (header, literal) = (
        root.get_styles().get_header(),
        root.get_styles().get_literal(),
    );
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let width = names.map(|name| name.len()).max().unwrap_or(0);
    let mut list = String::new();
    let mut add = |line: std::fmt::Arguments<'_>| {
        list.write_fmt(line)
            .expect("a text takes what is written to it");
    };
    for (heading, names) in GROUPS {
        add(format_args!("{header}{heading} commands:{header:#}\n"));
        for name in names {
            let command = root.find_subcommand(name);
            let about = command.and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            add(format_args!(
                "  {literal}{name:<width$}{literal:#}  {about}\n"
            ));
        }
        add(format_args!("\n"));
    }
    list
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::commands::Cli;

    #[test]
    fn every_command_is_in_one_group() {
        let root = Cli::command();
        let shown = root
            .get_subcommands()
            .filter(|command| !command.is_hide_set());
        let mut there: Vec<&str> = shown.map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        there.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, there);
        // A brace would be taken for a tag of the template.
        assert!(!list(&root).contains('{'));
    }
}
