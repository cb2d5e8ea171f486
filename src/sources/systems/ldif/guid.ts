/**
 * Active Directory's `objectGUID`: sixteen bytes, with the first three groups in little-endian order (MS-DTYP section
 * 2.3.4.2).
 */

/**
 * The GUID as Microsoft's tools write it (`b3a8e1f0-…`); undefined when the value is not sixteen bytes.
 * @param value its bytes as the LDIF reader returns them: decoded as UTF-8 if valid, else one character per byte
 */
export function guidText(value: string | undefined): string | undefined {
  const bytes = value === undefined ? undefined : bytesOf(value);
  if (bytes === undefined) return undefined;
  const groups = [bytes.subarray(0, 4).reverse(), bytes.subarray(4, 6).reverse(), bytes.subarray(6, 8).reverse()];
  return [...groups, bytes.subarray(8, 10), bytes.subarray(10)].map((group) => group.toString('hex')).join('-');
}

function bytesOf(value: string): Buffer | undefined {
  const utf8 = Buffer.from(value);
  if (utf8.length === 16) return utf8;
  return /^[\0-\xff]{16}$/.test(value) ? Buffer.from(value, 'latin1') : undefined;
}
