//! What people ask for: a delivery [again](resend), those of a time [again](recover), or [no more](cancel).

pub mod cancel;
pub mod recover;
pub mod resend;
mod round;
