//! The name of an organization. It stands in mails to people who know neither it nor us, so it must not be a link.

use crate::fault::Fault;

/// How long it may be.
const CHARS_MAX: usize = 100;
/// What names of hosts are cut at: the dot, and those that browsers take for one (IDNA, UTS 46).
const DOTS: [char; 6] = ['.', '\u{2024}', '\u{fe52}', '。', '．', '｡'];

/// A name without blanks around it.
pub fn parse(text: &str, pointer: &str) -> Result<String, Fault> {
    let name = text.trim();
    let chars = name.chars().count();
    if !(1..=CHARS_MAX).contains(&chars) || name.chars().any(is_control) {
        let detail = format!(
            "The organization's name must be 1 to {CHARS_MAX} characters, none of them control characters."
        );
        return Err(Fault::invalid(pointer, detail));
    }
    if is_link(name) {
        let detail = "The organization's name must not contain a web address, because it appears in emails. If it is \
                      not one, put a space after the dot.";
        return Err(Fault::invalid(pointer, detail));
    }
    Ok(name.to_owned())
}

/// What begins a new line, or turns the text around it.
fn is_control(one: char) -> bool {
    one.is_control()
        || matches!(one, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What nobody sees, and browsers leave out of names of hosts. Some scripts and emoji need it, so it is no fault.
fn is_unseen(one: char) -> bool {
    matches!(
        one,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether mail programs would make a link of a part of it, or people type it for one: `https://…`, `www.acme`, `acme.com`,
/// `192.0.2.1`.
fn is_link(name: &str) -> bool {
    let seen = name.chars().filter(|one| !is_unseen(*one));
    let seen: String = seen.flat_map(char::to_lowercase).collect();
    let is_of_host = |one: char| one.is_alphanumeric() || one == '-' || DOTS.contains(&one);
    let mut words = seen.split(|one: char| !is_of_host(one));
    seen.contains("://") || seen.contains("www.") || words.any(is_host)
}

fn is_host(word: &str) -> bool {
    let labels: Vec<&str> = word.split(DOTS).filter(|one| !one.is_empty()).collect();
    let is_number = |label: &&str| label.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = |label: &str| label.starts_with(char::is_alphabetic) && label.chars().count() > 1;
    match labels.as_slice() {
        [_, .., last] if is_name(last) => true,
        numbers => numbers.len() == 4 && numbers.iter().all(is_number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_organizations_are_taken() {
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
            "شرکت\u{200c}ها",
            "Acme \u{1f469}\u{200d}\u{1f4bb}",
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
            "evil\u{2024}com",
            "evil\u{fe52}com",
            "evil.\u{200b}com",
            "e\u{ad}vil\u{2060}.c\u{200d}om",
            "ｅｖｉｌ．ｃｏｍ",
            "evil.рф",
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
        for name in [
            "",
            "  ",
            "A\nB",
            "A\u{2028}B",
            "A \u{202e}B",
            &"x".repeat(101),
        ] {
            assert!(parse(name, "/name").is_err(), "{name}");
        }
        assert!(parse(&"x".repeat(100), "/name").is_ok());
    }
}
