//! Outputs: which path a file's result gets, and writing it whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::picture_file::Container;
use super::source::Source;
use super::verdict::{Failure, Stop};

/// What the user named as the output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Stdout,
    File(PathBuf),
    Folder(PathBuf),
}

impl Destination {
    /// Several inputs, or a folder as input, need a folder; else `out` is a folder only if it exists as one or ends
    /// with a slash.
    pub(crate) fn choose(out: &Path, inputs: &[PathBuf]) -> Result<Destination, Stop> {
        let many = inputs.len() > 1 || inputs.iter().any(|input| input.is_dir());
        if out == Path::new("-") {
            return match many {
                true => Err(Stop::Usage("the standard output takes one picture; give one file as IN".into())),
                false => Ok(Destination::Stdout),
            };
        }
        let ends_with_slash = out.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
        if !many && !out.is_dir() && !ends_with_slash {
            return Ok(Destination::File(out.to_owned()));
        }
        if !out.is_dir() && (out.exists() || (!ends_with_slash && Container::of_path(out).is_some())) {
            let out = out.display();
            return Err(Stop::Usage(format!("several files need a folder for the output, and '{out}' names a file")));
        }
        Ok(Destination::Folder(out.to_owned()))
    }

    /// Where the result of this source goes; `None` for the standard output.
    pub(crate) fn path_for(&self, source: &Source, extension: &str) -> Option<PathBuf> {
        match self {
            Destination::Stdout => None,
            Destination::File(path) => Some(path.clone()),
            Destination::Folder(folder) => Some(folder.join(source.relative.with_extension(extension))),
        }
    }

    /// Writes what `write` writes to `path`, or to the standard output.
    pub(crate) fn put(
        &self,
        path: Option<&Path>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let Some(path) = path else {
            let mut stdout = BufWriter::new(io::stdout().lock());
            let written = write(&mut stdout).and_then(|()| stdout.flush());
            return written.map_err(|error| Failure::Write { path: "the standard output".into(), error });
        };
        let create_folder = || match (self, path.parent()) {
            (Destination::Folder(_), Some(parent)) => fs::create_dir_all(parent),
            _ => Ok(()),
        };
        create_folder()
            .and_then(|()| write_whole(path, write))
            .map_err(|error| Failure::Write { path: path.to_owned(), error })
    }
}

/// Writes a temporary file in the same folder and renames it, so that nobody ever sees half a file and an earlier
/// one stays until the new one is complete.
fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let existing = fs::metadata(path).ok();
    if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        // Renaming would replace a device or a pipe.
        let mut file = BufWriter::new(File::options().write(true).open(path)?);
        write(&mut file)?;
        return file.flush();
    }
    // The file that a link leads to is meant, not the link.
    let path = if existing.is_some() { path.canonicalize()? } else { path.to_owned() };
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        let text = format!("the folder '{}' does not exist", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".isopel-").suffix(".tmp");
    // Temporary files are for their owner only; this one is to become an ordinary file, as the umask allows.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = BufWriter::new(builder.tempfile_in(folder)?);
    write(&mut file)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
