//! Colors are for terminals: what goes into a file or a pipe has none.

use crate::cli::Terminal;
use crate::deployment::{Deployment, Running, event};

#[tokio::test]
async fn a_table_has_colors_at_a_terminal_only_and_the_same_columns_without() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.ingest(&event("agent-1")).await;
    let list = ["events", "list"];
    let plain = Terminal::of(customer).settled(&list);
    assert!(plain.stdout.contains("  denied  "), "{}", plain.stdout);
    assert!(!plain.stdout.contains('\u{1b}'), "{}", plain.stdout);
    // As if there were a terminal.
    let colored = Terminal::of(customer)
        .with("CLICOLOR_FORCE", "1")
        .run(&list);
    let (red, bold, end) = ("\u{1b}[31m", "\u{1b}[1m", "\u{1b}[0m");
    assert!(
        colored.stdout.contains(&format!("  {red}denied{end}  ")),
        "{}",
        colored.stdout
    );
    let without = [red, bold, end]
        .iter()
        .fold(colored.stdout, |text, code| text.replace(code, ""));
    assert_eq!(without, plain.stdout);
}
