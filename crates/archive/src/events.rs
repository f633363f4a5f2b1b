//! Many events at a time: their stored bytes in one text, so that a row costs no allocation.

/// The stored JSON of events, in order, each followed by a line end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    text: String,
    /// How many bytes of the text each event has, its line end not counted.
    lengths: Vec<u32>,
}

impl Events {
    /// From events that are each followed by a line end. `None` if the lengths are not those of the
    /// text.
    pub fn from_text(text: String, lengths: Vec<u32>) -> Option<Self> {
        let bytes: usize = lengths.iter().map(|length| *length as usize + 1).sum();
        let mut end = 0;
        let fits = bytes == text.len()
            && lengths.iter().all(|length| {
                end += *length as usize + 1;
                text.as_bytes()[end - 1] == b'\n'
            });
        fits.then_some(Self { text, lengths })
    }

    pub fn push(&mut self, json: &str) {
        self.text.push_str(json);
        self.text.push('\n');
        let length = u32::try_from(json.len()).expect("an event is far below 4 GiB");
        self.lengths.push(length);
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.lengths.iter().map(move |length| {
            let end = start + *length as usize;
            let event = &self.text[start..end];
            start = end + 1;
            event
        })
    }

    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// How many bytes they are, line ends included.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// One event on each line. A line end inside an event can only stand between its tokens, where a
    /// space means the same.
    pub(crate) fn into_lines(self) -> Vec<u8> {
        let mut bytes = self.text.into_bytes();
        #[expect(
            clippy::naive_bytecount,
            reason = "the compiler makes it wide enough; next to the digest it is nothing"
        )]
        let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
        if ends != self.lengths.len() {
            let mut start = 0;
            for length in self.lengths {
                let end = start + length as usize;
                for byte in &mut bytes[start..end] {
                    if *byte == b'\n' {
                        *byte = b' ';
                    }
                }
                start = end + 1;
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_on_several_lines_becomes_one_line() {
        let mut events = Events::default();
        events.push("{\"a\":\n1}");
        events.push("{}");
        assert_eq!(events.iter().collect::<Vec<_>>(), ["{\"a\":\n1}", "{}"]);
        assert_eq!(events.into_lines(), b"{\"a\": 1}\n{}\n");
    }

    #[test]
    fn lengths_that_are_not_the_texts_are_refused() {
        let events = Events::from_text("{}\n{ }\n".to_owned(), vec![2, 3]).expect("they fit");
        assert_eq!(events.iter().collect::<Vec<_>>(), ["{}", "{ }"]);
        assert!(Events::from_text("{}\n{ }\n".to_owned(), vec![3, 2]).is_none());
        assert!(Events::from_text("{}\n".to_owned(), vec![]).is_none());
        let nothing = Events::from_text(String::new(), vec![]);
        assert!(nothing.is_some_and(|events| events.is_empty()));
    }
}
