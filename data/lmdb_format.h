#pragma once

#include <aorta/data/byte_source.h>

/// The pages of an LMDB database's file, data.mdb, as liblmdb 0.9 writes it on 64-bit little-endian
/// machines. Numbers are little-endian.
///
///     a page    0  u64 its number     10  u16 flags: 1 branch, 2 leaf, 4 of a long value, 8 head
///              12  u16 the end of the places of nodes, each a u16 from 16 on: where it lies
///              14  u16 where the nodes begin
///     a node    0  u32 its value's size      4  u16 flags      6  u16 its key's size      8  key
///                  then the value, or for flag 1 the u64 number of the first of its own pages, in
///                  which it follows the first 16 bytes. In a branch the first 6 bytes are the
///                  number of the page below, and there is no value.
///     a head   16  u32 magic, u32 version          40  u32 a page's size
///              92  u16 flags, u16 depth            120  u64 entries, u64 root
///             136  u64 the last page's number      144  u64 the number of the transaction
///
/// Pages 0 and 1 are heads, and the one of the later transaction counts. liblmdb trusts the file: a
/// number that points out of it is a crash there. So all that it follows is looked at before.
///
/// Source: OpenLDAP, LMDB 0.9.24, the structures MDB_meta, MDB_db, MDB_page and MDB_node.
namespace aorta::data {

/// How many values there are. Reads the tree's pages, none of those that long values have for
/// themselves. What it lets pass, liblmdb can read. Throws `op: LMDB rule, got values in PATH`.
int64_t check_lmdb(const ByteSource& file, const char* op);

}  // namespace aorta::data
