//! Announces again what nodes must know, after the journal or the database was lost or restored: [`compare`] finds what
//! differs and has it announced, when an operator asks for it; [`heal`] does so by itself when the journal has lost it.

pub(crate) mod compare;
mod heal;

pub(crate) use heal::heal_until_stopped;
