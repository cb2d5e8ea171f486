/**
 * Gives the memory of a buffer back at once. V8 would keep it until its next collection, which it begins after a few
 * megabytes of such buffers: an upload would spend most of its time in collections of the whole heap.
 */

/** Nothing may use the buffer afterwards. One that is a part of another one is left to V8. */
export function release(buffer: Uint8Array): void {
  const memory = buffer.buffer;
  if (memory instanceof ArrayBuffer && memory.byteLength === buffer.byteLength) memory.transfer(0);
}
