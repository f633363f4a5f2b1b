//! Gives what libFuzzer makes up to the target that `FUZZ_TARGET` names.
#![no_main]

use std::sync::LazyLock;

use fuzz::Target;
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    fuzz::target(&name).unwrap_or_else(|| panic!("no target is called {name}"))
});

fuzz_target!(|input: &[u8]| (TARGET.check)(input));
