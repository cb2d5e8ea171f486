/** The options of `muster import`. */
import type { SourceOptions } from './options.ts';

export interface RunOptions extends SourceOptions {
  timeout: string;
  dryRun: boolean;
  onExisting: 'fail' | 'skip' | 'update';
  mails?: 'auto' | 'none' | undefined;
  strict: boolean;
  withoutEmail: boolean;
  passwordSource?: string | undefined;
  pepperEnv?: string | undefined;
  pepperMode?: string | undefined;
  webhook?: string | undefined;
  idempotencyKey?: string | undefined;
  watch: boolean;
  yes: boolean;
  skipBroken: boolean;
}
