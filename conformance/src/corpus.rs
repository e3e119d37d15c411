//! The corpus' tables, read into typed rows. `corpus/README.md` says what they hold.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use isopel_core::{Scale, Size};

/// The repository's root; the tables name files from there.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository").to_owned()
}

/// The folder of the corpus.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Why a table can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// The table or a file it names can't be read.
    #[error("can't read {path}: {source}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A column that the rows need is missing.
    #[error("{path} has no column {column:?}")]
    Column {
        /// Which table.
        path: PathBuf,
        /// Which column.
        column: &'static str,
    },
    /// A cell does not have the form it should.
    #[error("{path}, line {line}: {column} can't be {value:?}")]
    Cell {
        /// Which table.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Which column.
        column: &'static str,
        /// What stands there.
        value: String,
    },
}

/// Reads a file's bytes.
///
/// # Errors
/// [`CorpusError::Read`].
pub fn read(path: &Path) -> Result<Vec<u8>, CorpusError> {
    std::fs::read(path).map_err(|source| CorpusError::Read { path: path.to_owned(), source })
}

/// What libjpeg-turbo makes of a file: a row of `MANIFEST.tsv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldenRow {
    /// Path from the repository's root.
    pub path: String,
    /// SHA-256 of the file.
    pub file_sha256: String,
    /// `ok`, `error` or `skipped`.
    pub status: String,
    /// Warnings libjpeg gives.
    pub warnings: u64,
    /// `gray8`, `rgb8`, `cmyk8`; `-` or `other` where there are no pixels to compare.
    pub format: String,
    /// Width as stored.
    pub width: u32,
    /// Height as stored.
    pub height: u32,
    /// SHA-256 of the packed pixels, if all rows came out.
    pub pixels_sha256: Option<String>,
    /// libjpeg's error or first warning.
    pub message: String,
}

/// Reads `MANIFEST.tsv`.
///
/// # Errors
/// [`CorpusError`].
pub fn golden_rows() -> Result<Vec<GoldenRow>, CorpusError> {
    let table = Table::read(&folder().join("MANIFEST.tsv"))?;
    let rows = table.rows().map(|row| {
        Ok(GoldenRow {
            path: row.text("path")?.to_owned(),
            file_sha256: row.text("file_sha256")?.to_owned(),
            status: row.text("status")?.to_owned(),
            warnings: row.number("warnings")?,
            format: row.text("format")?.to_owned(),
            width: row.number("width")?,
            height: row.number("height")?,
            pixels_sha256: row.optional("pixels_sha256")?,
            message: row.text("message")?.to_owned(),
        })
    });
    rows.collect()
}

/// What libjpeg-turbo makes of a file at a smaller scale: a row of `SCALED.tsv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaledRow {
    /// Path from the repository's root.
    pub path: String,
    /// 1/2, 1/4 or 1/8.
    pub scale: Scale,
    /// Warnings libjpeg gives.
    pub warnings: u64,
    /// `gray8`, `rgb8` or `cmyk8`.
    pub format: String,
    /// Size of the scaled picture, as stored.
    pub size: Size,
    /// SHA-256 of the packed pixels.
    pub pixels_sha256: String,
}

impl ScaledRow {
    /// The file's bytes.
    ///
    /// # Errors
    /// [`CorpusError::Read`].
    pub fn bytes(&self) -> Result<Vec<u8>, CorpusError> {
        read(&root().join(&self.path))
    }
}

/// Reads `SCALED.tsv`, and the table of the same form that `ISOPEL_SCALED` names, if it is set; leaves out what isopel does
/// not decode.
///
/// # Errors
/// [`CorpusError`].
pub fn scaled_rows() -> Result<Vec<ScaledRow>, CorpusError> {
    let more = std::env::var_os("ISOPEL_SCALED").filter(|path| !path.is_empty()).map(PathBuf::from);
    let mut rows = Vec::new();
    for path in std::iter::once(folder().join("SCALED.tsv")).chain(more) {
        for row in Table::read(&path)?.rows() {
            rows.push(ScaledRow {
                path: row.text("path")?.to_owned(),
                scale: row.parsed("scale")?,
                warnings: row.number("warnings")?,
                format: row.text("format")?.to_owned(),
                size: Size::new(row.number("width")?, row.number("height")?),
                pixels_sha256: row.text("pixels_sha256")?.to_owned(),
            });
        }
    }
    rows.retain(|row| row.format != "other" && !NOT_DECODED.iter().any(|name| row.path.ends_with(name)));
    Ok(rows)
}

/// Files that libjpeg-turbo decodes and isopel does not yet.
pub const NOT_DECODED: [&str; 2] = ["coding-arithmetic-seq.jpg", "coding-lossless-sof3.jpg"];

/// Rows of `MANIFEST.tsv` with pixels to compare, of at most `max_pixels` each, and their files' bytes.
///
/// # Errors
/// [`CorpusError`].
pub fn decodable(max_pixels: u64) -> Result<Vec<(GoldenRow, Vec<u8>)>, CorpusError> {
    let rows = golden_rows()?.into_iter().filter(|row| {
        let comparable = row.pixels_sha256.is_some() && ["gray8", "rgb8", "cmyk8"].contains(&row.format.as_str());
        let small = u64::from(row.width) * u64::from(row.height) <= max_pixels;
        comparable && small && !NOT_DECODED.contains(&row.name())
    });
    rows.map(|row| row.bytes().map(|bytes| (row, bytes))).collect()
}

/// A file with its row, shared between jobs.
pub type SharedFile = (GoldenRow, Arc<[u8]>);

/// [`decodable`] with the files' bytes as batches want them.
///
/// # Errors
/// [`CorpusError`].
pub fn decodable_shared(max_pixels: u64) -> Result<Vec<SharedFile>, CorpusError> {
    Ok(decodable(max_pixels)?.into_iter().map(|(row, jpeg)| (row, jpeg.into())).collect())
}

impl GoldenRow {
    /// The file's bytes.
    ///
    /// # Errors
    /// [`CorpusError::Read`].
    pub fn bytes(&self) -> Result<Vec<u8>, CorpusError> {
        read(&root().join(&self.path))
    }

    /// The file's name, without folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// What should become of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Exact pixels and no warning.
    Ok,
    /// Exact pixels and a warning.
    OkWithWarning,
    /// Full-size pixels and, where libjpeg warns, a warning.
    Partial,
    /// An error with this code; `limit` stands for all limits.
    Error(String),
    /// Exact pixels, or an error for a limit, since the file is slow.
    OkOrLimit,
    /// Either of two answers is fine; the test names the one that was chosen.
    Policy,
}

impl FromStr for Expected {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "ok" => Expected::Ok,
            "ok+warn" => Expected::OkWithWarning,
            "partial" => Expected::Partial,
            "policy" => Expected::Policy,
            "ok-slow/limit" | "ok+warn-slow/limit" => Expected::OkOrLimit,
            _ => Expected::Error(text.strip_prefix("error:").ok_or(())?.to_owned()),
        })
    }
}

/// A file with a known hazard: a row of `hazards/INDEX.tsv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HazardRow {
    /// The file's name.
    pub file: String,
    /// What should become of it.
    pub expected: Expected,
    /// Channels of the pixels that djpeg gives: 1 or 3.
    pub channels: Option<u8>,
    /// Hash of the pixels that djpeg gives, as stored.
    pub djpeg_sha256: Option<String>,
    /// What djpeg says; empty if nothing.
    pub djpeg_text: String,
    /// The EXIF orientation that is to be understood, 1 to 8.
    pub exif_orientation: u8,
    /// Hash of djpeg's pixels after the orientation.
    pub display_sha256: Option<String>,
    /// Hash of the CMYK pixels as stored.
    pub cmyk_sha256: Option<String>,
    /// A file with the same stored pixels.
    pub must_equal: Option<String>,
    /// What it is about.
    pub note: String,
}

/// Reads `hazards/INDEX.tsv`.
///
/// # Errors
/// [`CorpusError`].
pub fn hazard_rows() -> Result<Vec<HazardRow>, CorpusError> {
    let table = Table::read(&folder().join("hazards/INDEX.tsv"))?;
    let rows = table.rows().map(|row| {
        Ok(HazardRow {
            file: row.text("file")?.to_owned(),
            expected: row.parsed("expected")?,
            channels: row.optional("channels")?.and_then(|channels| channels.parse().ok()),
            djpeg_sha256: row.optional("djpeg3_sha256")?,
            djpeg_text: row.text("djpeg3_text")?.to_owned(),
            exif_orientation: row.number("exif_orientation")?,
            display_sha256: row.optional("display_sha256")?,
            cmyk_sha256: row.optional("cmyk_raw_sha256")?,
            must_equal: row.optional("must_equal")?,
            note: row.text("note")?.to_owned(),
        })
    });
    rows.collect()
}

impl HazardRow {
    /// The file's bytes.
    ///
    /// # Errors
    /// [`CorpusError::Read`].
    pub fn bytes(&self) -> Result<Vec<u8>, CorpusError> {
        hazard(&self.file)
    }
}

/// The bytes of a file in `hazards/`.
///
/// # Errors
/// [`CorpusError::Read`].
pub fn hazard(name: &str) -> Result<Vec<u8>, CorpusError> {
    read(&folder().join("hazards").join(name))
}

/// A crop of an upright picture: a row of `hazards/ROI.tsv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CropRow {
    /// The file's name in `hazards/`.
    pub file: String,
    /// Size of the whole upright picture.
    pub display_size: (u32, u32),
    /// x, y, width, height in display coordinates.
    pub rect: [u32; 4],
    /// 1 or 3.
    pub channels: u8,
    /// Hash of the packed pixels.
    pub sha256: String,
}

/// Reads `hazards/ROI.tsv`.
///
/// # Errors
/// [`CorpusError`].
pub fn crop_rows() -> Result<Vec<CropRow>, CorpusError> {
    let table = Table::read(&folder().join("hazards/ROI.tsv"))?;
    let rows = table.rows().map(|row| {
        Ok(CropRow {
            file: row.text("file")?.to_owned(),
            display_size: (row.number("display_w")?, row.number("display_h")?),
            rect: [row.number("x")?, row.number("y")?, row.number("w")?, row.number("h")?],
            channels: row.number("channels")?,
            sha256: row.text("sha256")?.to_owned(),
        })
    });
    rows.collect()
}

/// A file found in the wild: a row of the manifest in the folder that `ISOPEL_CORPUS` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealRow {
    /// Path from that folder.
    pub path: String,
    /// Which part of the corpus it is in; `open` is the part for everyday tests.
    pub split: String,
    /// Bits per sample, 0 if there is no frame header.
    pub precision: u8,
    /// The frame type, such as `SOF0-baseline`.
    pub process: String,
    /// libjpeg-turbo: `ok`, `warn`, `error`, or `toobig` for files that were not decoded.
    pub status: String,
    /// `gray8`, `rgb8`, `cmyk8` or something with another depth.
    pub format: Option<String>,
    /// Hash of the packed pixels as stored.
    pub pixels_sha256: Option<String>,
    /// libjpeg's error or first warning; empty if none.
    pub message: String,
}

impl RealRow {
    /// Whether its frame header promises what isopel decodes: 8 bits, Huffman coding, DCT.
    pub fn is_huffman_dct_8_bit(&self) -> bool {
        self.precision == 8 && ["SOF0-", "SOF1-", "SOF2-"].iter().any(|sof| self.process.starts_with(sof))
    }
}

/// Reads the manifest of a folder of real files.
///
/// # Errors
/// [`CorpusError`].
pub fn real_rows(folder: &Path) -> Result<Vec<RealRow>, CorpusError> {
    let table = Table::read(&folder.join("MANIFEST.tsv"))?;
    let rows = table.rows().map(|row| {
        Ok(RealRow {
            path: row.text("path")?.to_owned(),
            split: row.text("split")?.to_owned(),
            precision: row.number("precision")?,
            process: row.text("sof")?.to_owned(),
            status: row.text("ljt_status")?.to_owned(),
            format: row.optional("ljt_format")?,
            pixels_sha256: row.optional("ljt_pixels_sha256")?,
            message: row.text("ljt_message")?.to_owned(),
        })
    });
    rows.collect()
}

/// Tab-separated values: comment lines with `#`, a line of column names, rows.
struct Table {
    path: PathBuf,
    columns: HashMap<String, usize>,
    /// Line number and cells.
    rows: Vec<(usize, Vec<String>)>,
}

struct Row<'t> {
    table: &'t Table,
    line: usize,
    cells: &'t [String],
}

impl Table {
    fn read(path: &Path) -> Result<Table, CorpusError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| CorpusError::Read { path: path.to_owned(), source })?;
        let cells = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
        let names = lines.next().map(|(_, line)| cells(line)).unwrap_or_default();
        let columns = names.into_iter().enumerate().map(|(index, name)| (name, index)).collect();
        let rows = lines.map(|(index, line)| (index + 1, cells(line))).collect();
        Ok(Table { path: path.to_owned(), columns, rows })
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(line, cells)| Row { table: self, line: *line, cells })
    }
}

impl<'t> Row<'t> {
    fn text(&self, column: &'static str) -> Result<&'t str, CorpusError> {
        let missing = || CorpusError::Column { path: self.table.path.clone(), column };
        let index = *self.table.columns.get(column).ok_or_else(missing)?;
        Ok(self.cells.get(index).map_or("", String::as_str))
    }

    /// The cell, unless it is empty or `-`.
    fn optional(&self, column: &'static str) -> Result<Option<String>, CorpusError> {
        let text = self.text(column)?;
        Ok((!text.is_empty() && text != "-").then(|| text.to_owned()))
    }

    fn parsed<T: FromStr>(&self, column: &'static str) -> Result<T, CorpusError> {
        let value = self.text(column)?;
        value.parse().map_err(|_| CorpusError::Cell {
            path: self.table.path.clone(),
            line: self.line,
            column,
            value: value.to_owned(),
        })
    }

    fn number<T: FromStr>(&self, column: &'static str) -> Result<T, CorpusError> {
        self.parsed(column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folders_has_a_row_and_every_row_a_file() {
        let mut named: Vec<String> = golden_rows().unwrap().into_iter().map(|row| row.path).collect();
        let mut found = Vec::new();
        for folder in ["samples", "conformance/corpus/hazards", "conformance/corpus/generated"] {
            for entry in std::fs::read_dir(root().join(folder)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name.ends_with(".jpg") {
                    found.push(format!("{folder}/{name}"));
                }
            }
        }
        named.sort();
        found.sort();
        assert_eq!(named, found);
    }

    #[test]
    fn files_are_those_that_the_hashes_were_made_of() {
        for row in golden_rows().unwrap() {
            assert_eq!(crate::sha256(&row.bytes().unwrap()), row.file_sha256, "{} has changed", row.path);
        }
    }

    #[test]
    fn a_misspelt_expectation_is_an_error() {
        assert_eq!("fine".parse::<Expected>(), Err(()));
    }
}
