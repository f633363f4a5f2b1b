//! What `numeric` is given: `[">=", 500, "<", 1000]`.

use serde_json::Value;

use super::scalar::{Scalar, json_number};
use crate::{fault::Fault, nearest::nearest};

const SIGNS: [&str; 5] = ["=", ">", ">=", "<", "<="];

/// Numbers between two ends, or above or below one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    low: Option<End>,
    high: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct End {
    /// The bits of the f64.
    bits: u64,
    is_included: bool,
}

impl End {
    fn number(self) -> f64 {
        f64::from_bits(self.bits)
    }
}

impl Range {
    /// Pointers of faults start below `numeric`.
    pub(super) fn parse(operand: &Value) -> Result<Self, Fault> {
        let Value::Array(parts) = operand else {
            let detail = "`numeric` takes a list of comparison signs and numbers: write [\">=\", \
                          500].";
            return Err(Fault::invalid("", detail));
        };
        if !matches!(parts.len(), 2 | 4) {
            let detail = "`numeric` takes one or two pairs of a comparison sign and a number: \
                          write [\">=\", 500] or [\">=\", 500, \"<\", 1000].";
            return Err(Fault::invalid("", detail));
        }
        let mut range = Self {
            low: None,
            high: None,
        };
        for (pair, place) in parts.chunks_exact(2).zip((0..).step_by(2)) {
            let sign = sign(&pair[0], place)?;
            let number = number(&pair[1], place + 1)?;
            range.add(sign, number, place)?;
        }
        if range.is_empty() {
            let detail = "No number satisfies both; did you mean it the other way around?";
            return Err(Fault::invalid("", detail));
        }
        Ok(range)
    }

    fn add(&mut self, sign: &str, number: f64, place: usize) -> Result<(), Fault> {
        let Scalar::Number(bits) = Scalar::number(number) else {
            unreachable!("a number is one");
        };
        let end = Some(End {
            bits,
            is_included: sign.ends_with('='),
        });
        let bounds_low = sign != "<" && sign != "<=";
        let bounds_high = sign != ">" && sign != ">=";
        if (bounds_low && self.low.is_some()) || (bounds_high && self.high.is_some()) {
            let detail = "Give one lower and one upper bound, or `=` alone.";
            return Err(Fault::invalid(format!("/{place}"), detail));
        }
        if bounds_low {
            self.low = end;
        }
        if bounds_high {
            self.high = end;
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        let (Some(low), Some(high)) = (self.low, self.high) else {
            return false;
        };
        low.number() > high.number()
            || (low.bits == high.bits && !(low.is_included && high.is_included))
    }

    pub(super) fn holds(&self, number: f64) -> bool {
        let above = self
            .low
            .is_none_or(|low| number > low.number() || (low.is_included && number >= low.number()));
        let below = self.high.is_none_or(|high| {
            number < high.number() || (high.is_included && number <= high.number())
        });
        above && below
    }

    /// The one number that holds, if there is only one.
    pub fn only(&self) -> Option<Scalar<'static>> {
        let (low, high) = (self.low?, self.high?);
        (low.bits == high.bits).then_some(Scalar::Number(low.bits))
    }

    pub(super) fn to_json(&self) -> Value {
        if let Some(only) = self.only() {
            return Value::from(vec![Value::from("="), only.to_json()]);
        }
        let side = |end: Option<End>, included: &str, excluded: &str| {
            let sign = |end: End| if end.is_included { included } else { excluded };
            end.map(|end| [Value::from(sign(end)), json_number(end.number())])
        };
        let sides = [side(self.low, ">=", ">"), side(self.high, "<=", "<")];
        sides.into_iter().flatten().flatten().collect()
    }
}

fn sign(part: &Value, place: usize) -> Result<&str, Fault> {
    let fault = |detail: String| Fault::invalid(format!("/{place}"), detail);
    let Value::String(sign) = part else {
        let detail = "A comparison sign is expected here: one of \"=\", \">\", \">=\", \"<\", \
                      \"<=\"."
            .to_owned();
        return Err(fault(detail));
    };
    match sign.as_str() {
        sign if SIGNS.contains(&sign) => Ok(sign),
        "!=" | "<>" => Err(fault(
            "Write {\"anything-but\": [5]} for all numbers except 5.".to_owned(),
        )),
        "=>" => Err(fault("Write \">=\".".to_owned())),
        "=<" => Err(fault("Write \"<=\".".to_owned())),
        unknown => Err(fault(match nearest(unknown, SIGNS) {
            Some(sign) => format!("Did you mean \"{sign}\"?"),
            None => {
                "A comparison sign must be one of \"=\", \">\", \">=\", \"<\", \"<=\".".to_owned()
            }
        })),
    }
}

fn number(part: &Value, place: usize) -> Result<f64, Fault> {
    let fault = |detail: String| Fault::invalid(format!("/{place}"), detail);
    match part {
        Value::Number(number) => number
            .as_f64()
            .filter(|number| number.is_finite())
            .ok_or_else(|| fault("This number is too large.".to_owned())),
        Value::String(text) => Err(fault(match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => {
                format!("Write a number without quotes: {}.", json_number(number))
            }
            _ => "A number is expected here, after the comparison sign.".to_owned(),
        })),
        _ => Err(fault(
            "A number is expected here, after the comparison sign.".to_owned(),
        )),
    }
}
