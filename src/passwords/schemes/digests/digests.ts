/** The digests that the name of a salted digest or an HMAC may contain, with their lengths in bytes. */
export const DIGESTS = [
  { algorithm: 'sha256', length: 32 },
  { algorithm: 'sha512', length: 64 },
  { algorithm: 'sha1', length: 20 },
  { algorithm: 'md5', length: 16 },
  { algorithm: 'sha384', length: 48 },
  { algorithm: 'sha224', length: 28 },
];
