//! The name of an organisation. It stands in mails to people who know neither it nor us, so it must not be a link.

use crate::fault::Fault;

/// How long it may be.
const CHARS_MAX: usize = 100;
/// What names of hosts are cut at: the dot, and those that browsers take for one (IDNA).
const DOTS: [char; 4] = ['.', '。', '．', '｡'];

/// A name without blanks around it.
pub fn parse(text: &str, pointer: &str) -> Result<String, Fault> {
    let name = text.trim();
    let chars = name.chars().count();
    if !(1..=CHARS_MAX).contains(&chars) || name.chars().any(char::is_control) {
        let detail = format!(
            "The organisation's name must be 1 to {CHARS_MAX} characters, none of them control characters."
        );
        return Err(Fault::invalid(pointer, detail));
    }
    if is_link(name) {
        let detail = "The organisation's name must not have a web address in it, because it stands in mails. \
                      If it is none, write a blank after the dot.";
        return Err(Fault::invalid(pointer, detail));
    }
    Ok(name.to_owned())
}

/// Whether mail programs would make a link of a part of it: `https://…`, `www.acme`, `acme.com`, `192.0.2.1`.
pub fn is_link(name: &str) -> bool {
    let name = name.to_lowercase();
    let is_of_host = |one: char| one.is_alphanumeric() || one == '-' || DOTS.contains(&one);
    let mut words = name.split(|one: char| !is_of_host(one));
    name.contains("://") || name.contains("www.") || words.any(is_host)
}

fn is_host(word: &str) -> bool {
    let labels: Vec<&str> = word.split(DOTS).filter(|one| !one.is_empty()).collect();
    let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = |label: &str| label.starts_with(char::is_alphabetic) && label.chars().count() > 1;
    match labels.as_slice() {
        [_, .., last] if is_name(last) => true,
        [a, b, c, d] => [a, b, c, d].into_iter().all(|label| is_number(label)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_organisations_are_taken() {
        for name in [
            "A",
            "Acme Inc.",
            "J.P. Morgan & Sons",
            "Ærø",
            "No.1 Agency",
            "R.E.M.",
            "3.14",
            "Müller, Maier + Co. KG",
            "What... is this",
        ] {
            assert_eq!(parse(&format!(" {name} "), "/name"), Ok(name.to_owned()));
        }
    }

    #[test]
    fn what_mail_programs_make_links_of_is_not_a_name() {
        for name in [
            "https://evil.example",
            "Your account is locked, go to evil.example/login",
            "Prize at WWW.EVIL",
            "x://y",
            "evil.com",
            "(evil.co.uk)",
            "mail ann@evil.org now",
            "evil。com",
            "evil.xn--p1ai",
            "see 192.0.2.1",
        ] {
            let fault = parse(name, "/name").expect_err(name);
            assert_eq!(fault.pointer, "/name");
            assert!(fault.detail.contains("web address"), "{}", fault.detail);
        }
    }

    #[test]
    fn what_is_no_name_at_all_is_refused() {
        for name in ["", "  ", "A\nB", &"x".repeat(101)] {
            assert!(parse(name, "/name").is_err(), "{name}");
        }
        assert!(parse(&"x".repeat(100), "/name").is_ok());
    }
}
