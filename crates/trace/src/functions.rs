//! Kernels by the handles that a driver returns for them.
//!
//! A launch refers to a handle; a lookup, which may be on another thread and come later in
//! the file, provides its name. A handle that is looked up again under another name (code
//! was unloaded and the handle reused) is a new function from then on.

use std::collections::HashMap;

use preheat_model::run::trace::Function;

use crate::slots::owned;

/// The size of the cache in front of the map; a power of two.
const CACHED: usize = 256;

/// The functions of a process.
#[derive(Debug)]
pub(crate) struct Functions {
    table: Vec<Function>,
    by_handle: HashMap<u64, u32>,
    /// Handle and index: launches repeat few handles, and the map's hash is slow.
    cache: Box<[Option<(u64, u32)>; CACHED]>,
    /// Functions that were used before they turned out to be aliases.
    same: Vec<(u32, u32)>,
}

impl Functions {
    pub(crate) fn new() -> Functions {
        Functions {
            table: Vec::new(),
            by_handle: HashMap::new(),
            cache: Box::new([None; CACHED]),
            same: Vec::new(),
        }
    }

    /// The index of the function with this handle. Adds it if it is new.
    #[inline]
    pub(crate) fn index(&mut self, handle: u64) -> u32 {
        match self.cache[cache_slot(handle)] {
            Some((cached, index)) if cached == handle => index,
            _ => self.index_by_map(handle),
        }
    }

    fn index_by_map(&mut self, handle: u64) -> u32 {
        let index = match self.by_handle.get(&handle) {
            Some(index) => *index,
            None => self.add(handle, String::new()),
        };
        self.cache[cache_slot(handle)] = Some((handle, index));
        index
    }

    fn add(&mut self, handle: u64, name: String) -> u32 {
        let index = u32::try_from(self.table.len()).unwrap_or(u32::MAX);
        self.table.push(Function { name });
        self.point(handle, index);
        index
    }

    fn point(&mut self, handle: u64, index: u32) -> Option<u32> {
        self.cache[cache_slot(handle)] = Some((handle, index));
        self.by_handle.insert(handle, index)
    }

    /// Records that a lookup of this name returned this handle.
    pub(crate) fn named(&mut self, handle: u64, name: &[u8]) -> u32 {
        let index = self.index(handle);
        match self.table.get_mut(index as usize) {
            Some(function) if function.name.is_empty() => {
                function.name = owned(name);
                index
            }
            Some(function) if function.name.as_bytes() == name => index,
            _ => {
                let name = owned(name);
                // A name that was not UTF-8 differs from its bytes.
                if self
                    .table
                    .get(index as usize)
                    .is_some_and(|same| same.name == name)
                {
                    return index;
                }
                self.add(handle, name)
            }
        }
    }

    /// Records that `function` is another handle of `kernel`.
    pub(crate) fn alias(&mut self, function: u64, kernel: u64) -> u32 {
        let index = self.index(kernel);
        if let Some(before) = self
            .point(function, index)
            .filter(|before| *before != index)
        {
            self.same.push((before, index));
        }
        index
    }

    /// All functions by index, with their names where known.
    pub(crate) fn into_table(mut self) -> Vec<Function> {
        for (before, index) in self.same {
            let name = self
                .table
                .get(index as usize)
                .map(|other| other.name.clone());
            if let (Some(name), Some(function)) = (name, self.table.get_mut(before as usize))
                && function.name.is_empty()
            {
                function.name = name;
            }
        }
        self.table
    }
}

/// The cache slot of a handle. Handles are addresses, so their low bits differ little.
#[inline]
fn cache_slot(handle: u64) -> usize {
    (handle.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize % CACHED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_come_after_the_launch() {
        let mut functions = Functions::new();
        let launched = functions.index(0x10);
        assert_eq!(functions.named(0x10, b"gemm"), launched);
        assert_eq!(functions.into_table()[0].name, "gemm");
    }

    #[test]
    fn an_alias_is_its_kernel() {
        let mut functions = Functions::new();
        let kernel = functions.named(1, b"gemm");
        assert_eq!(functions.alias(2, 1), kernel);
        assert_eq!(functions.index(2), kernel);
    }

    #[test]
    fn an_alias_that_was_launched_before_gets_the_name_too() {
        let mut functions = Functions::new();
        let early = functions.index(2);
        functions.alias(2, 1);
        functions.named(1, b"gemm");
        assert_eq!(functions.into_table()[early as usize].name, "gemm");
    }

    #[test]
    fn a_handle_that_is_used_again_is_a_new_function() {
        let mut functions = Functions::new();
        let first = functions.named(7, b"old");
        let second = functions.named(7, b"new");
        assert_ne!(first, second);
        assert_eq!(functions.index(7), second);
        assert_eq!(functions.named(7, b"new"), second);
        let table = functions.into_table();
        assert_eq!(
            (table[0].name.as_str(), table[1].name.as_str()),
            ("old", "new")
        );
    }

    #[test]
    fn many_handles_stay_distinct() {
        let mut functions = Functions::new();
        let first: Vec<u32> = (0..5000)
            .map(|handle| functions.index(handle * 64))
            .collect();
        let again: Vec<u32> = (0..5000)
            .map(|handle| functions.index(handle * 64))
            .collect();
        assert_eq!(first, again);
    }
}
