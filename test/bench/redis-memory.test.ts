import assert from 'node:assert/strict';
import test from 'node:test';
import { parseRedisMemory } from '../../bench/measure/redis-memory.ts';

const INFO =
  '# Memory\r\nused_memory:9000000\r\nused_memory_peak:12345678\r\nused_memory_peak_human:11.77M\r\n\r\n' +
  '# Persistence\r\naof_rewrites:17\r\naof_rewrites_consecutive_failures:0\r\naof_last_cow_size:3000000\r\n';

test('the figures are read from the reply to INFO', () => {
  assert.deepEqual(parseRedisMemory(INFO), { usedMemoryPeakMegabytes: 12.3, rewrites: 17, rewriteCopyMegabytes: 3 });
});

test('a missing figure is an error, not zero', () => {
  assert.throws(() => parseRedisMemory('used_memory_peak:1\r\n'), /aof_rewrites/);
});
