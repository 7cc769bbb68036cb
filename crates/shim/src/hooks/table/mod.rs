//! The table of hooked functions: what is recorded for each, and in which of its arguments
//! that is found. The hooks themselves are not defined here.
//!
//! A function is identified by its base name, without `_v2` or `_ptsz`: in all versions of
//! a function, the arguments that are read here have the same positions. Exceptions are
//! marked with [`Entry::old`].

mod driver;
mod libraries;
pub(crate) mod opencl;

use preheat_wire::Shape;

/// An argument that a function does not have.
pub(crate) const NONE: u8 = u8::MAX;

/// A hooked function.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its name without version.
    pub(crate) name: &'static str,
    /// Its library.
    pub(crate) library: Library,
    /// The details recorded besides its duration.
    pub(crate) detail: Detail,
    /// The maximum number of machine words of its arguments, in any version.
    pub(crate) width: Width,
    /// The way in which it returns errors.
    pub(crate) answer: Answer,
    /// The side effects of a call.
    pub(crate) then: Then,
    /// True if the name without a version is the interface with 32-bit addresses of CUDA
    /// before 3.2. Then only its duration is recorded.
    pub(crate) old: bool,
    /// True if it is called very often, so that it may be left out when space is short.
    pub(crate) hot: bool,
    /// True if a steady iteration calls it often, and it neither waits for the device nor
    /// sets anything up: it is left out of intervals without detail.
    pub(crate) often: bool,
}

/// The details recorded for a call; the numbers are indices of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Its duration.
    Plain,
    /// Its duration, unless it is always quick: functions that are called for every
    /// operation and mostly find a cached result.
    Usual,
    /// The resource usage of the thread.
    Heavy,
    /// The size, and the position of the address.
    Allocate {
        bytes: u8,
        place: HandlePosition,
        stream: u8,
    },
    /// `cuMemAllocPitch`: the size is known afterwards.
    AllocatePitch,
    /// `cuArrayCreate` or `cuArray3DCreate`, with a descriptor of two or three dimensions.
    AllocateArray { sizes: u8 },
    /// The address.
    Free(u8),
    /// The size and both addresses.
    Copy {
        bytes: u8,
        to: u8,
        from: u8,
        stream: u8,
    },
    /// A copy whose size is the product of three sizes that an argument points to.
    CopyRegion { region: u8, to: u8, from: u8 },
    /// A copy that a `CUDA_MEMCPY2D` or `CUDA_MEMCPY3D` describes.
    CopyDescribed { sizes: u8, stream: u8 },
    /// `cuMemcpyBatchAsync`: a number of sizes.
    CopyBatch,
    /// The function's handle.
    Launch(u8),
    /// The position of the code; the handle is stored where the first argument points.
    Module { code: u8, is_file: bool },
    /// The position of the name.
    Lookup { name: u8, place: HandlePosition },
    /// The function of a kernel: `cuKernelGetFunction`. Once per kernel.
    Alias,
    /// A query about the kernel or function with this handle, which may load it: its
    /// duration, once per handle. Programs make it at every launch.
    Once(u8),
    /// `cuGetProcAddress`: returns functions, which are then hooked too.
    ProcAddress,
}

impl Detail {
    pub(crate) const fn shape(self) -> Shape {
        match self {
            Detail::Plain | Detail::Usual | Detail::Once(_) | Detail::ProcAddress => Shape::Plain,
            Detail::Heavy => Shape::Heavy,
            Detail::Allocate { .. } | Detail::AllocatePitch | Detail::AllocateArray { .. } => {
                Shape::Allocate
            }
            Detail::Free(_) => Shape::Free,
            Detail::Copy { .. }
            | Detail::CopyRegion { .. }
            | Detail::CopyDescribed { .. }
            | Detail::CopyBatch => Shape::Copy,
            Detail::Launch(_) => Shape::Launch,
            Detail::Module { .. } => Shape::Module,
            Detail::Lookup { .. } => Shape::Lookup,
            Detail::Alias => Shape::Alias,
        }
    }
}

/// The position of a handle or an address after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandlePosition {
    /// Stored where this argument points.
    Out(u8),
    /// This argument itself.
    In(u8),
    /// The return value.
    Returned,
}

/// The number of machine words that are forwarded. Six are in registers; copying more than
/// a function has is harmless, and costs little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Six,
    Fourteen,
    /// With a structure of 128 bytes on the stack, as in `ncclCommInitRank`.
    TwentyTwo,
}

/// The way in which a function returns errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It returns a status; 0 is success.
    Status,
    /// It returns a handle, and stores a status where this argument points ([`NONE`]:
    /// nowhere).
    Handle(u8),
}

/// The side effects of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Nothing,
    /// A context was created; its handle is where the first argument points.
    Context,
    CaptureBegan,
    CaptureEnded,
    /// The event that is the first argument was recorded.
    EventRecorded,
    /// The milliseconds between two events, the second and third argument, are where the
    /// first argument points.
    Elapsed,
}

/// The libraries with hooked functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    Driver,
    Nvrtc,
    NvJitLink,
    NvPtxCompiler,
    Cublas,
    CublasLt,
    Cudnn,
    Cusolver,
    Cusparse,
    CusparseLt,
    Cufft,
    Curand,
    Cutensor,
    Nccl,
    OpenCl,
}

impl Library {
    /// The prefix of the library's file name.
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Library::Driver => "libcuda.so",
            Library::Nvrtc => "libnvrtc.so",
            Library::NvJitLink => "libnvJitLink.so",
            Library::NvPtxCompiler => "libnvptxcompiler",
            Library::Cublas => "libcublas.so",
            Library::CublasLt => "libcublasLt.so",
            Library::Cudnn => "libcudnn",
            Library::Cusolver => "libcusolver.so",
            Library::Cusparse => "libcusparse.so",
            Library::CusparseLt => "libcusparseLt.so",
            Library::Cufft => "libcufft.so",
            Library::Curand => "libcurand.so",
            Library::Cutensor => "libcutensor.so",
            Library::Nccl => "libnccl.so",
            Library::OpenCl => "libOpenCL.so",
        }
    }
}

/// A driver function that is not in the table.
pub(crate) static PLAIN: Entry = Entry {
    width: Width::Fourteen,
    ..entry("", Library::Driver, Detail::Plain)
};

/// An entry with the usual values; the tables change them where necessary.
const fn entry(name: &'static str, library: Library, detail: Detail) -> Entry {
    Entry {
        name,
        library,
        detail,
        width: Width::Six,
        answer: Answer::Status,
        then: Then::Nothing,
        old: false,
        hot: matches!(
            detail.shape(),
            Shape::Plain | Shape::Free | Shape::Copy | Shape::Launch
        ),
        often: matches!(detail, Detail::Launch(_) | Detail::Usual),
    }
}

impl Entry {
    const fn wide(mut self) -> Entry {
        self.width = Width::Fourteen;
        self
    }

    const fn old(mut self) -> Entry {
        self.old = true;
        self
    }

    const fn often(mut self) -> Entry {
        self.often = true;
        self
    }

    const fn then(mut self, then: Then) -> Entry {
        self.then = then;
        self
    }

    /// Returns whether calls of the two may be recorded in the same way.
    pub(crate) fn is_hooked_like(&self, other: &Entry) -> bool {
        (self.detail, self.width, self.answer, self.then, self.often)
            == (
                other.detail,
                other.width,
                other.answer,
                other.then,
                other.often,
            )
    }
}

/// The entry for a base name.
pub(crate) fn find(base: &[u8]) -> Option<&'static Entry> {
    let table = match base {
        [b'c', b'u', b'A'..=b'Z', ..] => driver::TABLE,
        [b'c' | b'n', ..] => libraries::TABLE,
        _ => return None,
    };
    let at = table
        .binary_search_by(|entry| entry.name.as_bytes().cmp(base))
        .ok()?;
    table.get(at)
}

/// Returns whether a driver function is not hooked: cheap and frequent queries, polling,
/// functions with floating-point arguments or more words than are forwarded, and the export
/// tables, whose integrity the driver checks.
pub(crate) fn left_alone(base: &[u8]) -> bool {
    driver::LEFT_ALONE
        .iter()
        .any(|pattern| match pattern.as_bytes().strip_suffix(b"*") {
            Some(prefix) => base.starts_with(prefix),
            None => base == pattern.as_bytes(),
        })
}

#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = &'static Entry> {
    driver::TABLE.iter().chain(libraries::TABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_and_every_entry_is_found() {
        for table in [driver::TABLE, libraries::TABLE] {
            for pair in table.windows(2) {
                assert!(pair[0].name < pair[1].name, "{}", pair[1].name);
            }
        }
        for entry in all() {
            let found = find(entry.name.as_bytes()).expect(entry.name);
            assert_eq!(found.name, entry.name);
            assert_eq!(
                preheat_wire::base_name(entry.name.as_bytes()),
                entry.name.as_bytes()
            );
            assert!(!left_alone(entry.name.as_bytes()), "{}", entry.name);
        }
        assert!(find(b"cuNothing").is_none());
        assert!(find(b"malloc").is_none());
        assert!(find(b"").is_none());
    }

    #[test]
    fn export_tables_and_getters_are_not_hooked() {
        for name in [
            "cuGetExportTable",
            "cuDeviceGetAttribute",
            "cuTexRefSetMipmapLevelBias",
        ] {
            assert!(left_alone(name.as_bytes()), "{name}");
        }
        for name in ["cuInit", "cuMemAlloc", "cuFuncGetAttribute"] {
            assert!(!left_alone(name.as_bytes()), "{name}");
        }
    }
}
