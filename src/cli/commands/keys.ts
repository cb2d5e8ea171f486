/** `muster keys`: replacing the encryption key. It runs where the service runs, as it needs the keys. */
import { group } from '../subcommands.ts';
import { rotate } from './key/rotate.ts';
import { status } from './key/status.ts';

export const keys = group('keys', 'replace the encryption key of the service', [status, rotate]);
