/** Reads messages of Protocol Buffers without their schema: a test must not decode with the library that encoded. */

/** Whole numbers, and everything else as its bytes. */
export type Value = bigint | Buffer;

/** The values of each field of a message, by the number of the field. */
export function fieldsOf(message: Buffer): Map<number, Value[]> {
  const fields = new Map<number, Value[]>();
  for (let at = 0; at < message.length; ) {
    const tag = varint(message, at);
    const { value, end } = valueAt(message, tag.end, Number(tag.value & 7n));
    const number = Number(tag.value >> 3n);
    fields.set(number, [...(fields.get(number) ?? []), value]);
    at = end;
  }
  return fields;
}

/** The messages in a field. */
export function messagesIn(fields: Map<number, Value[]>, number: number): Map<number, Value[]>[] {
  return bytesIn(fields, number).map(fieldsOf);
}

export function bytesIn(fields: Map<number, Value[]>, number: number): Buffer[] {
  return (fields.get(number) ?? []).filter((value) => Buffer.isBuffer(value));
}

function valueAt(message: Buffer, at: number, type: number): { value: Value; end: number } {
  if (type === 0) return varint(message, at);
  const length = type === 2 ? varint(message, at) : { value: type === 1 ? 8n : 4n, end: at };
  const end = length.end + Number(length.value);
  return { value: message.subarray(length.end, end), end };
}

function varint(message: Buffer, from: number): { value: bigint; end: number } {
  let value = 0n;
  for (let at = from, shift = 0n; ; at++, shift += 7n) {
    const byte = message.readUInt8(at);
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return { value, end: at + 1 };
  }
}
