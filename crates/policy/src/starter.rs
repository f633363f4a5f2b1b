//! The policies that every organization begins with, as version 1.

/// Permits everything, so that agents are not stopped on the first day. It is the same for everybody
/// and never changes: what was decided by it must be decided so again.
pub const POLICIES: &str = r#"// Everything is allowed until you say otherwise.
@id("allow-all")
permit (principal, action, resource);
"#;

/// Its version.
pub const VERSION: u32 = 1;
