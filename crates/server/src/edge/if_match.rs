//! `If-Match`: the version that a change is meant for (RFC 9110, section 13.1.1).

use axum::{
    extract::FromRequestParts,
    http::{HeaderName, header, request::Parts},
};
use domain::error_code::ErrorCode;

use super::Problem;

/// What a request says of the version that it is meant for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IfMatch {
    /// Nothing: whichever version there is.
    NotGiven,
    /// Whichever version there is, as long as there is one.
    Any,
    /// One of these, each as it stands between the quotes.
    OneOf(Vec<String>),
}

impl IfMatch {
    /// Refuses a change that is meant for another version of `what` than the one there is.
    pub fn check(&self, what: &str, version: u32) -> Result<(), Problem> {
        let admits = match self {
            Self::NotGiven | Self::Any => true,
            Self::OneOf(tags) => tags.contains(&version.to_string()),
        };
        if admits {
            return Ok(());
        }
        let detail = format!(
            "The {what} is at version {version}. Read it again, reapply your change, and send it with `If-Match: \
             \"{version}\"`."
        );
        Err(Problem::new(ErrorCode::PreconditionFailed, detail))
    }
}

/// The header that tells the version of what is in an answer.
pub fn etag(version: u32) -> [(HeaderName, String); 1] {
    [(header::ETAG, format!("\"{version}\""))]
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut given = Vec::new();
        for value in parts.headers.get_all(header::IF_MATCH) {
            given.push(value.to_str().map_err(|_| malformed())?);
        }
        match given.join(",").trim() {
            _ if given.is_empty() => Ok(Self::NotGiven),
            "*" => Ok(Self::Any),
            list => tags(list).map(Self::OneOf).ok_or_else(malformed),
        }
    }
}

fn malformed() -> Problem {
    let detail =
        "`If-Match` must be the `ETag` of a response, with its quotes, such as \"3\"; or *.";
    Problem::new(ErrorCode::InvalidParameter, detail)
}

/// The tags of a list such as `"3", "4"`. A weak one is no promise that nothing has changed, so it is
/// read and left out: it never matches.
fn tags(list: &str) -> Option<Vec<String>> {
    let (mut tags, mut rest) = (Vec::new(), list);
    loop {
        let (is_weak, quoted) = match rest.strip_prefix("W/") {
            Some(quoted) => (true, quoted),
            None => (false, rest),
        };
        let (tag, after) = quoted.strip_prefix('"')?.split_once('"')?;
        if tag.contains(|character: char| character.is_ascii_control() || character == ' ') {
            return None;
        }
        if !is_weak {
            tags.push(tag.to_owned());
        }
        rest = after.trim_start();
        if rest.is_empty() {
            return Some(tags);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_tags_is_read_and_anything_else_is_not() {
        let cases: [(&str, Option<&[&str]>); 10] = [
            (r#""3""#, Some(&["3"])),
            (r#""3", "4""#, Some(&["3", "4"])),
            (r#""3,4""#, Some(&["3,4"])),
            (r#"W/"3""#, Some(&[])),
            (r#"W/"3" ,"4""#, Some(&["4"])),
            ("3", None),
            (r#""3"#, None),
            (r#""3" "4""#, None),
            (r#""3","#, None),
            ("", None),
        ];
        for (list, expected) in cases {
            let expected = expected.map(|tags| tags.iter().map(ToString::to_string).collect());
            assert_eq!(tags(list), expected, "{list}");
        }
    }
}
