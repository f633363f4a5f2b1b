//! How many guesses deep a password is: what people choose, and others therefore try first, counts little.

/// The fewest pieces that a text can be put together from. A common word, a year, a row of the alphabet, of numbers or
/// of a keyboard, and what came before once more are one piece each; so is every other character. `known` are words that
/// a guesser of this very password would try.
pub(super) fn fewest_pieces(text: &str, known: &[&str]) -> usize {
    let chars: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    // Of what begins at a place, from the end backwards: the rest behind any piece is known by then.
    let mut fewest = vec![0; chars.len() + 1];
    for start in (0..chars.len()).rev() {
        let rest = &chars[start..];
        let longest = row(rest).max(again(&chars, start));
        let others = words(rest, known).chain(year(rest)).chain([1]);
        let lengths = (PIECE_MIN..=longest).chain(others);
        let behind = lengths.map(|length| fewest[start + length]).min();
        fewest[start] = 1 + behind.unwrap_or(0);
    }
    fewest[0]
}

/// Two characters that follow each other say nothing.
const PIECE_MIN: usize = 3;

/// What fingers run along, forwards and backwards, and from the end to the beginning again.
const ROWS: [&str; 7] = [
    "abcdefghijklmnopqrstuvwxyz",
    "0123456789",
    "qwertyuiop",
    "qwertzuiop",
    "asdfghjkl",
    "zxcvbnm",
    "!@#$%^&*()",
];

/// How far a text runs along a row, or repeats its first character.
fn row(rest: &[char]) -> usize {
    let along = |row: &&str| {
        let forwards: Vec<char> = row.chars().collect();
        let backwards: Vec<char> = row.chars().rev().collect();
        steps(rest, &forwards).max(steps(rest, &backwards))
    };
    let same = rest.iter().take_while(|one| rest.first() == Some(*one));
    ROWS.iter()
        .map(along)
        .chain([same.count()])
        .max()
        .unwrap_or(0)
}

/// How many characters of a text are those of a row, one after the other.
fn steps(rest: &[char], row: &[char]) -> usize {
    let begins = row.iter().position(|one| rest.first() == Some(one));
    begins.map_or(0, |begins| {
        let along = row.iter().cycle().skip(begins);
        rest.iter()
            .zip(along)
            .take_while(|(one, other)| one == other)
            .count()
    })
}

/// How long what begins at a place is the same as what begins somewhere before it.
fn again(chars: &[char], start: usize) -> usize {
    let same_as = |before: usize| {
        let pairs = chars[start..].iter().zip(&chars[before..]);
        pairs.take_while(|(one, other)| one == other).count()
    };
    (0..start).map(same_as).max().unwrap_or(0)
}

/// The lengths of the words that a text begins with, however its letters are written.
fn words<'a>(rest: &'a [char], known: &'a [&'a str]) -> impl Iterator<Item = usize> + 'a {
    let all = WORDS.split_whitespace().chain(known.iter().copied());
    all.filter(move |word| word.chars().count() >= PIECE_MIN && begins_with(rest, word))
        .map(|word| word.chars().count())
}

fn begins_with(rest: &[char], word: &str) -> bool {
    let mut places = rest.iter();
    word.chars()
        .all(|letter| places.next().is_some_and(|one| stands_for(*one, letter)))
}

/// Whether a character is a letter, or is written for it: `p@ssw0rd`.
fn stands_for(one: char, letter: char) -> bool {
    one == letter
        || matches!(
            (one, letter),
            ('@' | '4', 'a')
                | ('3', 'e')
                | ('1' | '!', 'i' | 'l')
                | ('0', 'o')
                | ('$' | '5', 's')
                | ('7' | '+', 't')
        )
}

/// Of this century and the last.
fn year(rest: &[char]) -> Option<usize> {
    let is_year = matches!(rest, ['1', '9', tens, ones, ..] | ['2', '0', tens, ones, ..]
        if tens.is_ascii_digit() && ones.is_ascii_digit());
    is_year.then_some(4)
}

/// What stands in nearly every list of passwords that leaked, in lower case, and what this service is called.
const WORDS: &str = "
    watchbell password passwort passwd pass word secret login admin administrator root user guest test testing tester
    default changeme change temp temporary demo master superuser super manager server system service public private
    welcome hello letmein access enter open sesame trustno1 trust whatever nothing something anything
    iloveyou ilove love you lovely loveme forever always baby babygirl angel princess sweet sweetheart honey darling
    prince queen king kitty flower butterfly sunshine sunflower rainbow summer winter spring autumn fall
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    monkey dragon tiger lion eagle falcon bear wolf panther horse dolphin shadow phoenix ranger hunter killer
    football baseball basketball soccer hockey golf tennis liverpool arsenal chelsea barcelona madrid juventus
    batman superman spiderman starwars pokemon naruto minecraft fortnite matrix ninja pirate samurai warrior wizard
    michael michelle jessica jennifer daniel andrew joshua matthew thomas robert charlie jordan george william
    anthony nicole ashley amanda samantha alexander maria anna peter martin david john james
    mustang ferrari porsche harley corvette mercedes computer internet google facebook apple samsung windows
    microsoft android linux oracle database cisco qazwsx qazwsxedc 1qaz2wsx zaq12wsx 1q2w3e4r 1q2w3e q1w2e3r4 asdf
    qwerty qwertz azerty freedom america london paris berlin success money dollar million lucky jesus christ heaven
    security company office cheese chocolate coffee cookie banana orange pepper ginger buster maggie bailey
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tried_first_is_few_pieces() {
        for (text, pieces) in [
            ("", 0),
            ("x", 1),
            ("aaaaaaaaaaaa", 1),
            ("123456789012", 1),
            ("987654321098", 1),
            ("abcdefghijkl", 1),
            ("qwertyuiopqwerty", 1),
            ("Password1234", 2),
            ("P@$$w0rd2026", 2),
            ("passwordpassword", 2),
            ("Summer2026!!", 4),
            ("iloveyou1999", 2),
            ("WatchBell123", 2),
            ("1q2w3e4r1q2w3e4r", 2),
            ("abcxabcxabcx", 3),
        ] {
            assert_eq!(fewest_pieces(text, &[]), pieces, "{text}");
        }
    }

    #[test]
    fn what_nobody_tries_is_as_many_pieces_as_characters() {
        assert_eq!(fewest_pieces("correct hat", &[]), 11);
        assert_eq!(fewest_pieces("vq7.Hnd-e2Lz", &[]), 12);
        assert_eq!(fewest_pieces("xyäöß12ü", &[]), 8);
    }

    #[test]
    fn words_of_the_person_count_little_too() {
        assert_eq!(fewest_pieces("brigitte1", &["brigitte"]), 2);
        assert_eq!(fewest_pieces("brigitte1", &[]), 9);
        assert_eq!(fewest_pieces("abab", &["ab"]), 4);
    }
}
