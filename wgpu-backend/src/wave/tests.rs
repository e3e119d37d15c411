//! The passes of entropy decoding, array by array, beside the model of them in `isopel_core::subsequences`.

use isopel_conformance::random::{self, Random};
use isopel_conformance::writer::Baseline;
use isopel_conformance::{corpus, gpu};
use isopel_core::cpu::HostBuffer;
use isopel_core::subsequences::{Flags, Model, Record, StagedPlan, decode, symbol_slots};
use isopel_core::{Codestream, DecodeOptions, DecodePlan, Job, Size};

use super::*;
use crate::submit::requests;
use crate::tile::Staging;
use crate::{EntropyDecoding, WgpuBackend, WgpuOptions, WgpuTarget};

/// What the passes leave behind for one picture.
struct Found {
    records: Vec<[u32; 4]>,
    prefixes: Vec<[u32; 4]>,
    flags: u32,
    headers: Vec<u32>,
    symbols: Vec<u32>,
}

fn backend() -> Option<WgpuBackend> {
    let (device, queue) = gpu::callers_device_or_explain(wgpu::Limits::default())?;
    let options = WgpuOptions::default().threads(1).entropy(EntropyDecoding::Gpu);
    Some(gpu::block_on(WgpuBackend::with_device(device, queue, &options)).expect("the device suffices"))
}

fn words(bytes: &[u8], section: Section) -> Vec<u32> {
    let bytes = &bytes[section.offset as usize..][..section.size as usize];
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes"))).collect()
}

/// Runs the passes; `None` if the picture is not one for them.
fn run(backend: &WgpuBackend, jpeg: &[u8], synchronisation: Synchronisation, subsequence_bytes: u32) -> Option<Found> {
    let target = WgpuTarget::Host(isopel_core::cpu::HostTarget::packed(HostBuffer::new(vec![0; 1 << 24])));
    let job = Job { jpeg: jpeg.into(), options: DecodeOptions::default(), target };
    let staging = Staging { memory: &backend.staged_memory, subsequence_bytes };
    let (ready, _) = backend.prepare_all(requests(vec![job]), Some(&staging));
    let tile = ready.first()?.prepared.tiles.first().filter(|tile| tile.is_staged())?;
    let device = &backend.device;
    let slot = Slot { buffer: gpu::buffer(device, &vec![0; tile.layout.required_len().next_multiple_of(4)]), base: 0 };
    let memory = &backend.table_memory;
    let wave = Wave::with_synchronisation(&[(tile, slot)], backend.limits, memory, Some(synchronisation));
    let (scratch, coefficients) = wave.decoded_lens()?;
    let zeros = |len: u64| gpu::buffer(device, &vec![0; len.next_multiple_of(4) as usize]);
    let (scratch, coefficients) = (zeros(scratch), zeros(coefficients));
    let buffers = WaveBuffers {
        upload: gpu::buffer(device, &wave.upload().to_bytes()),
        planes: zeros(wave.plane_bytes()),
        decoded: Some((scratch.clone(), coefficients.clone())),
    };
    let mut encoder = device.create_command_encoder(&Default::default());
    wave.record(device, &mut encoder, &backend.pipelines, &buffers, None);
    backend.queue.submit([encoder.finish()]);
    let read = gpu::read_all(device, &backend.queue, &[scratch, coefficients]);
    let Source::Decoded(decoded) = &wave.source else { return None };
    let fours = |section| words(&read[0], section).as_chunks::<4>().0.to_vec();
    Some(Found {
        records: fours(decoded.records),
        prefixes: fours(decoded.prefixes),
        flags: words(&read[0], decoded.flags)[0],
        headers: words(&read[1], decoded.headers),
        symbols: words(&read[1], decoded.symbols),
    })
}

/// Blocks and sums as the shaders hold them.
fn packed(record: &Record) -> [u32; 3] {
    let pair = |part: usize| u32::from(record.dc[part] as u16) | u32::from(record.dc[part + 1] as u16) << 16;
    [record.blocks, pair(0), pair(2)]
}

/// Compares every array of every scan; gives whether the picture was flagged.
fn compare(found: &Found, jpeg: &[u8], subsequence_bytes: u32, what: &str) -> bool {
    let codestream = Codestream::parse(jpeg, &Default::default()).expect("it was prepared");
    let plan = DecodePlan::new(&codestream, &DecodeOptions::default()).expect("it was prepared");
    let expected = decode(&plan, subsequence_bytes).unwrap_or_else(|_| panic!("{what}: the model refuses it"));
    assert_eq!(found.flags != 0, expected.flags != Flags::default(), "{what}: flags {}", found.flags);
    if found.flags != 0 {
        return true;
    }
    let mut data = vec![0; StagedPlan::max_data_len(&plan)];
    let staged = StagedPlan::stage(&plan, subsequence_bytes, &mut data).unwrap_or_else(|_| panic!("{what}"));
    let mut first = 0;
    for scan in &staged.scans {
        let model = Model::new(&plan, &staged, scan, &data);
        let (mut states, mut records) = model.synchronise();
        model.join_groups(&mut states, &mut records);
        let mut prefixes = model.scan(&records);
        if model.needs_recount() {
            model.recount(&states, &prefixes, &mut records);
            prefixes = model.scan(&records);
        }
        for index in 0..states.len() {
            let place = format!("{what}, subsequence {index}");
            let [state, sums @ ..] = found.records[first + index];
            assert_eq!((state, sums), (states[index], packed(&records[index])), "{place}: record");
            let [both, sums @ ..] = found.prefixes[first + index];
            assert_eq!((both >> 16, sums), (states[index], packed(&prefixes[index])), "{place}: prefix");
        }
        first = (first + states.len()).next_multiple_of(isopel_core::subsequences::GROUP);
    }
    // Blocks outside the picture are not stored here, so first symbols differ; of several scans whole decodes compare.
    if let [symbols] = &expected.symbols[..] {
        let slots = symbol_slots(subsequence_bytes);
        let block = |header: u32| (header >> 7) as usize..((header >> 7) + (header & 127)) as usize;
        for (index, (&here, &there)) in found.headers.iter().zip(&expected.headers).enumerate() {
            let place = format!("{what}, block {index}");
            assert_eq!((here >> 7) / slots, (there >> 7) / slots, "{place}: subsequence");
            assert_eq!(found.symbols[block(here)], symbols[block(there)], "{place}: symbols");
        }
    }
    false
}

#[test]
fn every_pass_is_the_models() {
    let Some(backend) = backend() else { return };
    let sample = |name: &str| corpus::read(&corpus::root().join("samples").join(name)).expect("it is in the samples");
    let names = ["photo.jpg", "gray.jpg", "restart.jpg", "portrait-exif6.jpg", "cmyk.jpg"];
    let mut files: Vec<(String, Vec<u8>)> = names.iter().map(|name| (name.to_string(), sample(name))).collect();
    let mut random = Random::new(random::seed(45));
    // Components that share tables: blocks of an MCU can't be told apart before they are counted.
    for (step, sampling) in [&[(1, 1); 3][..], &[(2, 2), (1, 1), (1, 1)], &[(1, 1); 4]].into_iter().enumerate() {
        let file =
            Baseline { size: Size { width: 150, height: 90 }, sampling, quantizer: 3 }.write(|_, _, _, block| {
                block[0] = random.below(300) as i16 - 150;
                (0..random.below(9)).for_each(|_| block[1 + random.below(63)] = random.below(201) as i16 - 100);
            });
        files.push((format!("generated {step}"), file));
    }
    // Every decoder goes round with this byte, each on a way of its own.
    let mut hostile = sample("photo.jpg");
    hostile.truncate(20_000);
    hostile[1000..].fill(0x9D);
    hostile.extend([0xFF, 0xD9]);
    files.push(("hostile".to_owned(), hostile));
    let mut unflagged = 0;
    for (name, jpeg) in &files {
        for (synchronisation, subsequence_bytes) in [
            (Synchronisation::Rounds, 32),
            (Synchronisation::Rounds, 64),
            (Synchronisation::Rounds, 128),
            (Synchronisation::Candidates, 48),
            (Synchronisation::Candidates, 64),
        ] {
            let what = format!("{name}, {synchronisation:?}, {subsequence_bytes} bytes");
            let found = run(&backend, jpeg, synchronisation, subsequence_bytes);
            let found = found.unwrap_or_else(|| panic!("{what}: not prepared"));
            unflagged += usize::from(!compare(&found, jpeg, subsequence_bytes, &what));
        }
    }
    assert!(unflagged >= 5 * names.len(), "only {unflagged} were decoded");
}
