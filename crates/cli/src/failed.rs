//! The last words of a program that failed, and the exit code that goes with them.

use std::process::ExitCode;

use domain::error_code::ErrorCode;

use crate::{
    api::Unreachable,
    exit::{Code, Failure},
    output::note,
    problem::Problem,
};

/// Says why, and how to exit.
pub fn failed(program: &str, error: &anyhow::Error, words: &str) -> ExitCode {
    note(format_args!("{program}: {words}"));
    code_of(error).into()
}

/// What kind of failure it is here decides, or what the server answered.
fn code_of(error: &anyhow::Error) -> Code {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        failure.code
    } else if let Some(problem) = error.downcast_ref::<Problem>() {
        // It is saved: a script that tries again whatever is unavailable would do it twice.
        if problem.is(ErrorCode::NotInEffectYet) {
            return Code::Failed;
        }
        Code::of_status(problem.status)
    } else if error.is::<Unreachable>() {
        Code::Unavailable
    } else {
        Code::Failed
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;
    use crate::exit::invalid;

    #[test]
    fn a_failure_keeps_its_code_whatever_is_said_around_it() {
        let missing = std::io::Error::other("no such file");
        let error = Err::<(), _>(missing)
            .with_context(|| invalid("open rule.json"))
            .context("create the rule")
            .expect_err("an error");
        assert_eq!(code_of(&error), Code::Invalid);
        assert_eq!(
            format!("{error:#}"),
            "create the rule: open rule.json: no such file"
        );
        assert_eq!(code_of(&anyhow::anyhow!("something else")), Code::Failed);
    }
}
