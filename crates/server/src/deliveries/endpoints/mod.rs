//! Endpoints: people look at and [switch](manage) them; of their troubles they are told in the [trail](notice) and by
//! [`mail`].

pub mod mail;
pub mod manage;
pub mod notice;
