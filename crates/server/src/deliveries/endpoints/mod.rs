//! Endpoints: people look at and [switch](manage) them; of their troubles they are told in the [trail](notice) and by
//! [`mail`]. Where that is wanted they are [asked](challenge) whose they are, and people can [ask for it](verify).

pub mod challenge;
pub mod mail;
pub mod manage;
pub mod notice;
pub mod verify;
