/** What a file of a draft holds. */
export const FILE_KINDS = ['users', 'hashes', 'hash_parameters'] as const;
export type FileKind = (typeof FILE_KINDS)[number];
