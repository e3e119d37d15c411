//! Waves in the memory of the kernels' emulator, for tests without a device. Kernels may use what the backend would have
//! uploaded or has room for, and nothing beside it.

mod candidates;
mod passes;

use isopel_core::{Codestream, DecodeOptions, DecodePlan, PixelLayout};
use isopel_kernels_on_host::{Access, Memory, Order, launch};

use super::{CANDIDATES, CANDIDATES_BYTES, Member, Places, Synchronisation, Wave, symbol_slots};
use crate::exact::kernels::{Kernels, Launch};
use crate::exact::layout;
use crate::exact::prepare::StagedImage;
use crate::exact::stage::staged_room;
use crate::exact::tables::KnownTables;

/// An image with what is uploaded for it, and the layout of its pixels.
struct HostImage {
    image: StagedImage,
    data: Vec<u8>,
    layout: PixelLayout,
}

impl HostImage {
    /// Stages a file as the backend does. `None` if it is not one for the entropy kernels.
    fn staged(jpeg: &[u8], options: &DecodeOptions, subsequence_bytes: u32) -> Option<Self> {
        let codestream = Codestream::parse(jpeg, &options.limits).ok()?;
        let plan = DecodePlan::new(&codestream, options).ok()?;
        let layout = plan.layout().clone();
        let mut data = vec![0; staged_room(jpeg.len())];
        let image = StagedImage::new(&plan, &layout, subsequence_bytes, &mut data, &KnownTables::default())?;
        Some(HostImage { image, data, layout })
    }
}

/// A wave on the emulated device.
struct HostWave {
    memory: Memory,
    wave: Wave,
    parameter: layout::Wave,
    /// Addresses of the images' targets.
    targets: Vec<u64>,
    /// In which kernels run.
    order: Order,
}

impl HostWave {
    /// Uploads images. Their targets begin `misalignment` bytes behind a place where any word could.
    fn new(images: &[HostImage], synchronisation: Synchronisation, misalignment: usize, order: Order) -> Self {
        let mut memory = Memory::new();
        let targets: Vec<u64> = images.iter().map(|image| allow_target(&mut memory, image, misalignment)).collect();
        let (mut members, mut data) = (Vec::new(), Vec::new());
        for (HostImage { image, data: own, .. }, &target) in images.iter().zip(&targets) {
            members.push(Member { image, first_byte: data.len(), target });
            data.extend(own);
        }
        let end = members.last().map_or(0, |last| last.first_byte + last.image.staged.data_len);
        let mut wave = Wave::default().fill(&members, synchronisation);
        let places = wave.place(end);
        let start = memory.allocate(places.len);
        for member in &members {
            allow_data(&mut memory, member, start + member.first_byte as u64);
        }
        memory.upload(start, &data[..end]);
        let parameter = wave.set_address(&places, start);
        for (name, offset, len, access) in wave.parts(&places) {
            memory.allow(name, start + offset as u64, len, access);
        }
        let mut descriptions = vec![0; places.flags() + wave.flags_len() - places.descriptions()];
        wave.write_descriptions(&mut descriptions);
        memory.upload(start + places.descriptions() as u64, &descriptions);
        HostWave { memory, wave, parameter, targets, order }
    }

    /// Runs a kernel.
    ///
    /// # Panics
    /// At the kernel's first mistake.
    fn launch(&mut self, kernel: &str, blocks: u32, threads: u32) {
        let parameter = layout::bytes_of(std::slice::from_ref(&self.parameter));
        launch(kernel, blocks, (threads, 1), parameter, &mut self.memory, self.order).unwrap_or_else(|mistake| {
            panic!("{mistake} ({:?})", self.order);
        });
    }

    /// Runs a kernel as the backend does.
    fn run(&mut self, Launch { name, blocks, threads, .. }: Launch) {
        let kernel = name.split_once(',').map_or(name, |(kernel, _)| kernel);
        self.launch(kernel, blocks, threads);
    }

    /// Rows of `N` words each, from an address of the parameter on.
    fn words<const N: usize>(&self, address: u64, count: usize) -> Vec<[u32; N]> {
        let bytes = self.memory.bytes(address, 4 * N * count);
        let word = |row: &[u8], index| u32::from_ne_bytes(std::array::from_fn(|byte| row[4 * index + byte]));
        bytes.chunks_exact(4 * N).map(|row| std::array::from_fn(|index| word(row, index))).collect()
    }

    fn flags(&self) -> Vec<u32> {
        self.words::<1>(self.parameter.flags, self.targets.len()).into_iter().flatten().collect()
    }
}

impl Wave {
    /// The parts of a wave's memory but for its data: name, first byte, length, and what kernels do with it.
    fn parts(&self, places: &Places) -> Vec<(&'static str, usize, usize, Access)> {
        let names = [
            "entries",
            "scans",
            "segments",
            "groups",
            "recounted",
            "components",
            "idct_groups",
            "quant",
            "outputs",
            "tiles",
            "flags",
        ];
        let mut parts: Vec<(&str, usize, usize, Access)> = Vec::new();
        for ((name, &place), bytes) in names.into_iter().zip(&places.descriptions).zip(self.descriptions()) {
            let access = if name == "flags" { Access::ReadWrite } else { Access::Read };
            parts.push((name, place, bytes.len(), access));
        }
        let symbols = self.subsequences * symbol_slots(self.subsequence_bytes) as usize;
        if self.synchronisation == Synchronisation::Candidates {
            parts.push(("candidates", places.candidates, CANDIDATES_BYTES * self.subsequences, Access::ReadWrite));
            parts.push(("group_links", places.group_links, CANDIDATES * self.groups.len(), Access::ReadWrite));
        }
        for (name, place, len) in [
            ("records", places.records, 16 * self.subsequences),
            ("totals", places.totals, 16 * self.groups.len()),
            ("prefixes", places.prefixes, 16 * self.groups.len()),
            ("headers", places.headers, 8 * self.headers),
            ("symbols", places.symbols, 4 * symbols),
            ("planes", places.planes, self.plane_bytes),
        ] {
            parts.push((name, place, len, Access::ReadWrite));
        }
        parts
    }
}

/// Lets kernels read an image's data, which is at `address`.
fn allow_data(memory: &mut Memory, member: &Member, address: u64) {
    let image = member.image;
    for (index, scan) in image.staged.scans.iter().enumerate() {
        let name = format!("the data of scan {index}");
        memory.allow(&name, address + scan.data.start as u64, scan.data.len(), Access::Read);
    }
    if let Some(symbols) = image.first_symbol_byte {
        memory.allow("uploaded headers", address, symbols, Access::Read);
        let len = image.staged.data_len - symbols;
        memory.allow("uploaded symbols", address + symbols as u64, len, Access::Read);
    }
}

/// Makes room for an image's pixels, and lets kernels write those once, but not what lies between rows.
fn allow_target(memory: &mut Memory, image: &HostImage, misalignment: usize) -> u64 {
    let address = memory.allocate(misalignment + image.layout.required_len()) + misalignment as u64;
    let bytes_per_pixel = image.layout.format().bytes_per_pixel();
    for plane in image.layout.planes() {
        for row in 0..plane.size.height as usize {
            let start = address + (plane.offset + row * plane.stride) as u64;
            memory.allow("pixels", start, plane.size.width as usize * bytes_per_pixel, Access::WriteOnce);
        }
    }
    address
}
