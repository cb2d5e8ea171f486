/**
 * `muster pull SYSTEM`: reads the users of a running system, page by page, and imports or saves them.
 *
 * Guarantee: interrupted at any point, the same command continues where the state file says. A secret is never an
 * argument, and is neither shown nor stored.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type OldSystem, PullError, type PullSystem, type Secret } from '../../sources/pull/system.ts';
import { requireTimeout } from '../import/options.ts';
import { findOrg } from '../service/find.ts';
import type { Session } from '../service/session.ts';
import { askSecret } from '../terminal/ask.ts';
import { EXIT, type ExitCode, Failure, Interrupted, untilInterrupted, wrongUsage } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';
import { intervalMs, type PullOptions, requireFitting } from './options.ts';
import { importRound, type PullJob, saveRound } from './round.ts';
import { lockState, type PullState, peekState, readState, removeState } from './state.ts';

/** @throws Failure @throws UsageError */
export async function runPull(session: Session, system: PullSystem, options: PullOptions): Promise<void> {
  requireTimeout(options.timeout);
  requireFitting(options);
  const pause = options.follow === undefined ? undefined : intervalMs(options.follow);
  const orgId = options.org === undefined || options.out ? options.org : await findOrg(session.api, options.org);
  const secrets = await collectSecrets(session.out, options.shell.env, system.secrets);
  const statePath = options.state ?? (options.out ? `${options.out}.state` : `muster-pull-${system.name}.json`);
  await untilInterrupted(new Interrupted('Interrupted.'), async (signal) => {
    const note = (text: string) => session.out.note(text);
    let old: OldSystem | undefined;
    // A dry run writes nothing.
    const lock = options.dryRun ? undefined : await lockState(statePath);
    try {
      old = await system.open({ options: ownOptions(system, options), secrets, signal, note });
      await rounds({ session, system, old, options, orgId, statePath, signal }, pause);
    } catch (error) {
      throw signal.aborted ? await interrupted(statePath) : asFailure(error, system);
    } finally {
      await old?.close();
      await lock?.release();
    }
  });
}

/** The options of the system itself; the last value counts for an option that is repeated. */
function ownOptions({ options: known }: PullSystem, options: PullOptions) {
  return Object.fromEntries(
    Object.entries(known).map(([name, { array }]) => {
      const value = options[name] as string | string[] | undefined;
      return [name, Array.isArray(value) && !array ? value.at(-1) : value];
    }),
  );
}

async function rounds(job: PullJob, pauseMs: number | undefined): Promise<void> {
  const { options, statePath, session, signal } = job;
  const to = options.out ? `file ${options.out}` : `${session.api.url} ${job.orgId}`;
  if (options.restart && !options.dryRun) await removeState(statePath);
  for (let since = options.since; ; since = 'last') {
    const state: PullState = await readState(statePath, { from: job.old.identity, to });
    await (options.out ? saveRound(job, state, since) : importRound(job, state, since));
    if (pauseMs === undefined) return;
    await sleep(pauseMs, undefined, { signal }).catch(() => {
      throw signal.reason;
    });
  }
}

/** What to say after Ctrl-C: what is finished, what is dropped, and how to continue. */
async function interrupted(statePath: string): Promise<Interrupted> {
  const again = `The same command continues from there; the state is in ${statePath}.`;
  const state = await peekState(statePath);
  if (!state?.run)
    return new Interrupted('Stopped between two runs: everything that was read is sent.', state?.last && again);
  const { read, imports, open } = state.run;
  const where = imports.length === 0 ? '' : `, in import ${imports.join(', ')}`;
  const running = open === undefined ? '' : ` Import ${open} continues at the service.`;
  const what = `The first ${read.toLocaleString('en-US')} users read are finished${where}.`;
  return new Interrupted(
    `Interrupted. ${what}${running} What was read after them is dropped here and will be read again.`,
    again,
  );
}

const EXITS: Readonly<Record<PullError['trouble'], ExitCode>> = {
  denied: EXIT.denied,
  unreachable: EXIT.unreachable,
  failed: EXIT.failed,
};

function asFailure(error: unknown, { title }: PullSystem): unknown {
  if (!(error instanceof PullError)) return error;
  const advice =
    error.advice ?? (error.trouble === 'denied' ? `Check the user and the secret for ${title}.` : undefined);
  return new Failure(error.message, { exitCode: EXITS[error.trouble], advice });
}

/**
 * The secrets of a system by their names: from the environment, else typed on the terminal.
 * @throws Failure (usage) when one is missing and there is no terminal to ask on
 */
async function collectSecrets(
  out: Output,
  env: NodeJS.ProcessEnv,
  secrets: readonly Secret[],
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const secret of secrets) {
    const value = env[secret.env] ?? (await typed(out, secret));
    if (value !== undefined && value !== '') found[secret.name] = value;
    else if (!secret.optional) throw missing(secret);
  }
  return found;
}

async function typed(out: Output, { prompt, neverAsked }: Secret): Promise<string | undefined> {
  if (neverAsked || !out.live || !out.input.isTTY) return undefined;
  return (await askSecret(out, `${prompt} (not shown): `, new Interrupted('Nothing was read.'))).trim();
}

function missing({ prompt, env, neverAsked }: Secret): Failure {
  const orAsked = neverAsked ? '' : ', or run the command on a terminal, which asks for it';
  return wrongUsage(`${prompt} is missing.`, `Set ${env} in the environment${orAsked}.`);
}
