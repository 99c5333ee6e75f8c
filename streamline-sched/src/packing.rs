use serde::{Deserialize, Serialize};

use crate::columns;

/// A kind of bin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BinKind {
    /// What it has of each resource.
    pub capacity: Vec<u64>,
    /// What one costs.
    pub price: f64,
    /// How many there are; `None` for as many as one likes.
    pub available: Option<u32>,
}

/// Equal items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The sizes that it can take, one of which has to be chosen for each item; usually one.
    pub choices: Vec<Vec<u64>>,
    /// How many there are.
    pub count: u32,
}

/// Items to be packed into bins of several kinds at the lowest price: which TaskManagers to rent, of which size.
///
/// Resources can be any number; items can have alternatives.
///
/// # Examples
///
/// ```
/// use streamline_sched::{BinKind, PackingProblem, Piece};
///
/// // Five instances of 3 cores and 4 GiB; TaskManagers of 8 cores for 10 or of 4 cores for 6.
/// let kind = |cores, gib, price| BinKind { capacity: vec![cores, gib], price, available: None };
/// let pieces = vec![Piece { choices: vec![vec![3, 4]], count: 5 }];
/// let problem = PackingProblem::new(vec![kind(8, 16, 10.0), kind(4, 8, 6.0)], pieces)?;
/// let packing = problem.solve();
/// assert_eq!((packing.price, packing.proven), (26.0, true));
/// assert_eq!(packing.bins.iter().filter(|bin| bin.kind == 0).count(), 2);
/// # Ok::<(), streamline_sched::PackingError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PackingProblem {
    kinds: Vec<BinKind>,
    pieces: Vec<Piece>,
}

/// Why a packing problem was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PackingError {
    /// A capacity or size has another number of resources than the first kind of bin.
    #[error("{what} {index} has {actual} resources, expected {expected}")]
    WrongDimensions {
        /// `bin kind` or `piece`.
        what: &'static str,
        /// Its index.
        index: usize,
        /// Resources that it has.
        actual: usize,
        /// Resources of the first kind of bin.
        expected: usize,
    },
    /// A price is NaN, infinite or negative.
    #[error("bin kind {index} costs {price}, expected a finite number of at least 0")]
    InvalidPrice {
        /// Index of the kind.
        index: usize,
        /// Its price.
        price: f64,
    },
    /// A piece fits into no kind of bin, whatever its choice.
    #[error("piece {index} fits into no kind of bin")]
    TooLarge {
        /// Index of the piece.
        index: usize,
    },
    /// A file ends early or has something else than a whole number.
    #[error("word {index} is {found}, expected {expected}")]
    Syntax {
        /// Index of the word in the file, from 0.
        index: usize,
        /// The word, or `nothing`.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
}

/// A bin with what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilledBin {
    /// Index of the kind.
    pub kind: usize,
    /// Index of the piece, index of the choice and number of items, sorted.
    pub contents: Vec<(usize, usize, u32)>,
}

/// The answer to a [`PackingProblem`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Packing {
    /// The bins.
    pub bins: Vec<FilledBin>,
    /// Their price.
    pub price: f64,
    /// What no packing can cost less than.
    pub bound: f64,
    /// Whether the price is proven to be the lowest.
    pub proven: bool,
    /// Items of each piece that the available bins do not hold: piece and number.
    pub unplaced: Vec<(usize, u32)>,
}

impl PackingProblem {
    /// Checks the problem.
    ///
    /// # Errors
    /// [`PackingError`] with the place of the first mistake.
    pub fn new(kinds: Vec<BinKind>, pieces: Vec<Piece>) -> Result<Self, PackingError> {
        let expected = kinds.first().map_or(0, |kind| kind.capacity.len());
        for (index, kind) in kinds.iter().enumerate() {
            if kind.capacity.len() != expected {
                return Err(PackingError::WrongDimensions {
                    what: "bin kind",
                    index,
                    actual: kind.capacity.len(),
                    expected,
                });
            }
            if !(kind.price.is_finite() && kind.price >= 0.0) {
                return Err(PackingError::InvalidPrice {
                    index,
                    price: kind.price,
                });
            }
        }
        for (index, piece) in pieces.iter().enumerate() {
            if let Some(choice) = piece.choices.iter().find(|choice| choice.len() != expected) {
                return Err(PackingError::WrongDimensions {
                    what: "piece",
                    index,
                    actual: choice.len(),
                    expected,
                });
            }
            let fits = |choice: &Vec<u64>| {
                kinds.iter().any(|kind| {
                    choice
                        .iter()
                        .zip(&kind.capacity)
                        .all(|(size, capacity)| size <= capacity)
                })
            };
            if piece.count > 0 && !piece.choices.iter().any(fits) {
                return Err(PackingError::TooLarge { index });
            }
        }
        Ok(Self { kinds, pieces })
    }

    /// The kinds of bins.
    #[must_use]
    pub fn kinds(&self) -> &[BinKind] {
        &self.kinds
    }

    /// The items.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Packs at the lowest price it finds, and says how far from the lowest possible that can be.
    ///
    /// The bound is the linear relaxation over all fillings of one bin (Gilmore and Gomory, *A linear programming
    /// approach to the cutting-stock problem*, 1961), rounded up if all prices are whole. The packing comes from rounding
    /// its solution step by step. Fillings are searched exhaustively, so that the time grows quickly with how many items a
    /// bin holds: meant for up to a hundred different pieces and some ten of them a bin.
    #[must_use]
    pub fn solve(&self) -> Packing {
        columns::solve(self)
    }

    /// Reads the `.vbp` format of the `VPSolver`: resources, capacities, number of pieces, then sizes and count of each.
    ///
    /// # Errors
    /// [`PackingError`] with the place of the first mistake.
    ///
    /// # Examples
    ///
    /// ```
    /// use streamline_sched::PackingProblem;
    ///
    /// let problem = PackingProblem::from_vbp("1\n10\n2\n6 2\n4 2\n")?;
    /// assert_eq!(problem.solve().price, 2.0);
    /// # Ok::<(), streamline_sched::PackingError>(())
    /// ```
    pub fn from_vbp(text: &str) -> Result<Self, PackingError> {
        let mut words = Words::new(text);
        let dimensions = words.count("the number of resources")?;
        let capacity = words.list(dimensions, "a capacity")?;
        let count = words.count("the number of pieces")?;
        let mut pieces = Vec::new();
        for _ in 0..count {
            pieces.push(Piece {
                choices: vec![words.list(dimensions, "a size")?],
                count: words.small("a count")?,
            });
        }
        let kind = BinKind {
            capacity,
            price: 1.0,
            available: None,
        };
        Self::new(vec![kind], pieces)
    }

    /// Reads the `.mvp` format of the `VPSolver`: resources; number of kinds, capacities, price and number of each (−1 for
    /// any); number of pieces, then of each the number of choices, the count and the sizes of each choice.
    ///
    /// # Errors
    /// [`PackingError`] with the place of the first mistake.
    pub fn from_mvp(text: &str) -> Result<Self, PackingError> {
        let mut words = Words::new(text);
        let dimensions = words.count("the number of resources")?;
        let count = words.count("the number of bin kinds")?;
        let mut kinds = Vec::new();
        for _ in 0..count {
            kinds.push(BinKind {
                capacity: words.list(dimensions, "a capacity")?,
                price: words.small("a price")?.into(),
                available: words.optional("a number of bins, or -1")?,
            });
        }
        let count = words.count("the number of pieces")?;
        let mut pieces = Vec::new();
        for _ in 0..count {
            let choices = words.count("the number of choices")?;
            let count = words.small("a count")?;
            let choices = (0..choices)
                .map(|_| words.list(dimensions, "a size"))
                .collect::<Result<_, _>>()?;
            pieces.push(Piece { choices, count });
        }
        Self::new(kinds, pieces)
    }
}

/// The words of a file, with the place of each.
struct Words<'t> {
    words: std::str::SplitWhitespace<'t>,
    index: usize,
}

impl<'t> Words<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            words: text.split_whitespace(),
            index: 0,
        }
    }

    fn parse<T: std::str::FromStr>(&mut self, expected: &'static str) -> Result<T, PackingError> {
        let word = self.words.next();
        self.index += 1;
        word.and_then(|word| word.parse().ok())
            .ok_or_else(|| PackingError::Syntax {
                index: self.index - 1,
                found: word.map_or_else(|| "nothing".to_owned(), |word| format!("`{word}`")),
                expected,
            })
    }

    fn count(&mut self, expected: &'static str) -> Result<usize, PackingError> {
        self.parse(expected)
    }

    fn small(&mut self, expected: &'static str) -> Result<u32, PackingError> {
        self.parse(expected)
    }

    fn optional(&mut self, expected: &'static str) -> Result<Option<u32>, PackingError> {
        let number: i64 = self.parse(expected)?;
        if number == -1 {
            return Ok(None);
        }
        let index = self.index - 1;
        u32::try_from(number).map(Some).map_err(|_| PackingError::Syntax {
            index,
            found: format!("`{number}`"),
            expected,
        })
    }

    fn list(&mut self, length: usize, expected: &'static str) -> Result<Vec<u64>, PackingError> {
        (0..length).map(|_| self.parse(expected)).collect()
    }
}
