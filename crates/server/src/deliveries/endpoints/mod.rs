//! Endpoints: people look at and [switch](manage) them, are told of their troubles by [`mail`], and can have them asked whose
//! they are ([`verify`]). The trail is told, and endpoints are asked, by `deliver::endpoints`.

pub mod mail;
pub mod manage;
pub mod verify;
