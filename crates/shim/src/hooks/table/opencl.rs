//! The functions of OpenCL, by their index in the dispatch table that the loader and its
//! layers share. The Khronos headers (`cl_icd.h`) define the indices.

use super::{Answer, Detail, Entry, HandlePosition, Library, NONE, Width, entry};

/// A function and its index.
pub(crate) type Placed = (usize, Entry);

const fn hooked(place: usize, name: &'static str, detail: Detail) -> Placed {
    let mut entry = entry(name, Library::OpenCl, detail);
    entry.width = Width::Fourteen;
    (place, entry)
}

const fn heavy(place: usize, name: &'static str) -> Placed {
    hooked(place, name, Detail::Heavy)
}

const fn plain(place: usize, name: &'static str) -> Placed {
    hooked(place, name, Detail::Plain)
}

const fn often(placed: Placed) -> Placed {
    (placed.0, placed.1.often())
}

/// A function that returns a handle, and stores a status where this argument points.
const fn returns_handle(placed: Placed, error: u8) -> Placed {
    let (place, mut entry) = placed;
    entry.answer = Answer::Handle(error);
    (place, entry)
}

const fn buffer(place: usize, name: &'static str, bytes: u8, error: u8) -> Placed {
    let detail = Detail::Allocate {
        bytes,
        place: HandlePosition::Returned,
        stream: NONE,
    };
    returns_handle(hooked(place, name, detail), error)
}

const fn copies(place: usize, name: &'static str, bytes: u8, to: u8, from: u8) -> Placed {
    let detail = Detail::Copy {
        bytes,
        to,
        from,
        stream: 0,
    };
    hooked(place, name, detail)
}

const fn region(place: usize, name: &'static str, to: u8, from: u8) -> Placed {
    hooked(
        place,
        name,
        Detail::CopyRegion {
            region: 5,
            to,
            from,
        },
    )
}

const KERNEL: Detail = Detail::Lookup {
    name: 1,
    place: HandlePosition::Returned,
};

/// The stream of a copy is its queue.
pub(crate) static TABLE: &[Placed] = &[
    heavy(0, "clGetPlatformIDs"),
    heavy(2, "clGetDeviceIDs"),
    returns_handle(heavy(4, "clCreateContext"), 5),
    returns_handle(heavy(5, "clCreateContextFromType"), 4),
    heavy(7, "clReleaseContext"),
    returns_handle(heavy(9, "clCreateCommandQueue"), 3),
    heavy(11, "clReleaseCommandQueue"),
    buffer(14, "clCreateBuffer", 2, 4),
    hooked(18, "clReleaseMemObject", Detail::Free(0)),
    returns_handle(heavy(26, "clCreateProgramWithSource"), 4),
    returns_handle(heavy(27, "clCreateProgramWithBinary"), 6),
    heavy(30, "clBuildProgram"),
    returns_handle(hooked(34, "clCreateKernel", KERNEL), 2),
    plain(35, "clCreateKernelsInProgram"),
    plain(41, "clWaitForEvents"),
    plain(46, "clFlush"),
    plain(47, "clFinish"),
    copies(48, "clEnqueueReadBuffer", 4, 5, 1),
    copies(49, "clEnqueueWriteBuffer", 4, 1, 5),
    often(copies(50, "clEnqueueCopyBuffer", 5, 2, 1)),
    plain(51, "clEnqueueReadImage"),
    plain(52, "clEnqueueWriteImage"),
    plain(53, "clEnqueueCopyImage"),
    plain(54, "clEnqueueCopyImageToBuffer"),
    plain(55, "clEnqueueCopyBufferToImage"),
    returns_handle(copies(56, "clEnqueueMapBuffer", 5, NONE, 1), 9),
    plain(58, "clEnqueueUnmapMemObject"),
    hooked(59, "clEnqueueNDRangeKernel", Detail::Launch(1)),
    hooked(60, "clEnqueueTask", Detail::Launch(1)),
    region(86, "clEnqueueReadBufferRect", NONE, 1),
    region(87, "clEnqueueWriteBufferRect", 1, NONE),
    region(88, "clEnqueueCopyBufferRect", 2, 1),
    heavy(98, "clCompileProgram"),
    returns_handle(heavy(99, "clLinkProgram"), 8),
    often(plain(102, "clEnqueueFillBuffer")),
    plain(104, "clEnqueueMigrateMemObjects"),
    returns_handle(heavy(123, "clCreateCommandQueueWithProperties"), 3),
    buffer(126, "clSVMAlloc", 2, NONE),
    hooked(127, "clSVMFree", Detail::Free(1)),
    copies(129, "clEnqueueSVMMemcpy", 4, 2, 3),
    copies(131, "clEnqueueSVMMap", 4, NONE, 3),
    plain(132, "clEnqueueSVMUnmap"),
    returns_handle(heavy(138, "clCreateProgramWithIL"), 3),
    buffer(146, "clCreateBufferWithProperties", 3, 5),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_and_names_are_unique() {
        for pair in TABLE.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{}", pair[1].1.name);
        }
        let mut names: Vec<_> = TABLE.iter().map(|(_, entry)| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
    }
}
