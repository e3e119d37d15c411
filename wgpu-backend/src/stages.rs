//! The shader stages: which files make each, and what it binds.

/// How a stage uses a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    ReadWrite,
}

/// One compute stage.
pub(crate) struct Stage {
    /// Name of its entry point; objects are labelled `jpeg.<name>`.
    pub(crate) name: &'static str,
    pub(crate) files: &'static [&'static str],
    /// The bindings of group 0.
    pub(crate) bindings: &'static [Access],
}

pub(crate) const LAYOUT: &str = include_str!("../shaders/shared/layout.wgsl");

pub(crate) const UPSAMPLE: &str = include_str!("../shaders/upsample.wgsl");
pub(crate) const COLOR: &str = include_str!("../shaders/color.wgsl");

const SCANS: &str = include_str!("../shaders/shared/scans.wgsl");
const HUFFMAN: &str = include_str!("../shaders/shared/huffman.wgsl");
const COUNT: &str = include_str!("../shaders/shared/count.wgsl");
const CANDIDATES: &str = include_str!("../shaders/shared/candidates.wgsl");
const GROUP_LINKS: &str = include_str!("../shaders/shared/group_links.wgsl");
const SEGMENTED_SCAN: &str = include_str!("../shaders/shared/segmented_scan.wgsl");

/// Entropy decoding. `huffman::passes` has their order.
pub(crate) const HUFFMAN_STAGES: [Stage; 10] = [
    Stage {
        name: "huffman_synchronise",
        files: &[SCANS, HUFFMAN, COUNT, include_str!("../shaders/huffman_synchronise.wgsl")],
        // Scans, segments, subsequences, words; records.
        bindings: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::ReadWrite],
    },
    Stage {
        name: "huffman_join",
        files: &[SCANS, HUFFMAN, COUNT, include_str!("../shaders/huffman_join.wgsl")],
        // As before; flags.
        bindings: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::ReadWrite, Access::ReadWrite],
    },
    Stage {
        name: "huffman_reduce",
        files: &[SCANS, SEGMENTED_SCAN, include_str!("../shaders/huffman_reduce.wgsl")],
        // Subsequences; records, totals.
        bindings: &[Access::Read, Access::ReadWrite, Access::ReadWrite],
    },
    Stage {
        name: "huffman_scan",
        files: &[SCANS, SEGMENTED_SCAN, include_str!("../shaders/huffman_scan.wgsl")],
        // Scans, segments, subsequences; records, totals, prefixes.
        bindings: &[Access::Read, Access::Read, Access::Read, Access::ReadWrite, Access::ReadWrite, Access::ReadWrite],
    },
    Stage {
        name: "huffman_recount",
        files: &[SCANS, HUFFMAN, COUNT, include_str!("../shaders/huffman_recount.wgsl")],
        // Scans, segments, subsequences, words; records, prefixes.
        bindings: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::ReadWrite, Access::ReadWrite],
    },
    Stage {
        name: "huffman_write",
        files: &[SCANS, HUFFMAN, include_str!("../shaders/huffman_write.wgsl")],
        // Scans, segments, subsequences, words; prefixes, headers, symbols, flags.
        bindings: &[
            Access::Read,
            Access::Read,
            Access::Read,
            Access::Read,
            Access::ReadWrite,
            Access::ReadWrite,
            Access::ReadWrite,
            Access::ReadWrite,
        ],
    },
    Stage {
        name: "huffman_guess",
        files: &[SCANS, HUFFMAN, COUNT, CANDIDATES, include_str!("../shaders/huffman_guess.wgsl")],
        // Scans, segments, subsequences, words; candidates.
        bindings: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::ReadWrite],
    },
    Stage {
        name: "huffman_follow",
        files: &[SCANS, HUFFMAN, COUNT, CANDIDATES, include_str!("../shaders/huffman_follow.wgsl")],
        // As before.
        bindings: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::ReadWrite],
    },
    Stage {
        name: "huffman_link",
        files: &[SCANS, CANDIDATES, GROUP_LINKS, include_str!("../shaders/huffman_link.wgsl")],
        // Subsequences; candidates, links of groups.
        bindings: &[Access::Read, Access::ReadWrite, Access::ReadWrite],
    },
    Stage {
        name: "huffman_choose",
        files: &[SCANS, CANDIDATES, GROUP_LINKS, include_str!("../shaders/huffman_choose.wgsl")],
        // Scans, segments, subsequences; candidates, links of groups, records, flags.
        bindings: &[
            Access::Read,
            Access::Read,
            Access::Read,
            Access::ReadWrite,
            Access::ReadWrite,
            Access::ReadWrite,
            Access::ReadWrite,
        ],
    },
];

/// Reconstruction: all stages from coefficients on.
pub(crate) const STAGES: [Stage; 4] = [
    Stage {
        name: "dequant_idct",
        files: &[LAYOUT, include_str!("../shaders/dequant_idct.wgsl")],
        // Components, groups, block headers, symbols, quantizers; planes.
        bindings: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Read, Access::ReadWrite],
    },
    Stage {
        name: "orient",
        files: &[LAYOUT, UPSAMPLE, COLOR, include_str!("../shaders/orient.wgsl")],
        // Components, outputs, groups, planes; target.
        bindings: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::ReadWrite],
    },
    Stage {
        name: "orient_quads",
        files: &[
            LAYOUT,
            UPSAMPLE,
            include_str!("../shaders/upsample_quads.wgsl"),
            COLOR,
            include_str!("../shaders/orient_quads.wgsl"),
        ],
        // As of `orient`.
        bindings: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::ReadWrite],
    },
    Stage {
        name: "orient_420",
        files: &[LAYOUT, include_str!("../shaders/orient_420.wgsl")],
        // As of `orient`.
        bindings: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::ReadWrite],
    },
];

impl Stage {
    /// The whole shader.
    pub(crate) fn source(&self) -> String {
        self.files.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use naga::valid::{Capabilities, ValidationFlags, Validator};

    use super::*;
    use crate::huffman;
    use crate::wave::IDCT_BLOCKS;
    use crate::write::GROUP;

    #[test]
    fn shaders_are_valid_without_any_device() {
        for stage in STAGES.iter().chain(&HUFFMAN_STAGES) {
            let module = naga::front::wgsl::parse_str(&stage.source())
                .unwrap_or_else(|error| panic!("{}: {}", stage.name, error.emit_to_string(&stage.source())));
            Validator::new(ValidationFlags::all(), Capabilities::empty())
                .validate(&module)
                .unwrap_or_else(|error| panic!("{}: {error:?}", stage.name));
        }
    }

    #[test]
    fn stages_stay_within_the_webgpu_defaults() {
        for stage in STAGES.iter().chain(&HUFFMAN_STAGES) {
            let module = naga::front::wgsl::parse_str(&stage.source()).expect("validated elsewhere");
            let entry = &module.entry_points[0];
            assert_eq!(entry.name, stage.name);
            let width = match stage.name {
                "dequant_idct" => 8 * IDCT_BLOCKS,
                "orient" | "orient_quads" | "orient_420" => GROUP,
                name => huffman::lanes(name),
            };
            assert_eq!(entry.workgroup_size, [width, 1, 1]);
            let in_space = |wanted: fn(naga::AddressSpace) -> bool| {
                module.global_variables.iter().filter(move |(_, variable)| wanted(variable.space))
            };
            let storage = in_space(|space| matches!(space, naga::AddressSpace::Storage { .. })).count();
            assert_eq!(storage, stage.bindings.len());
            assert!(storage <= 8);
            let mut layouter = naga::proc::Layouter::default();
            layouter.update(module.to_ctx()).expect("the types have layouts");
            let workgroup: u32 = in_space(|space| space == naga::AddressSpace::WorkGroup)
                .map(|(_, variable)| layouter[variable.ty].size)
                .sum();
            assert!(workgroup <= 16_384);
            assert_eq!(in_space(|space| space == naga::AddressSpace::Private).count(), 0);
        }
    }
}
