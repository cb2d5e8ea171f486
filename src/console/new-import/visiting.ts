/** One request for a step: the draft, what was chosen, and who asks. */
import type { Request, Response } from 'express';
import type { Caller } from '../../access/caller.ts';
import { ApiError } from '../../errors.ts';
import type { Api } from '../api.ts';
import type { ScreenDeps } from '../deps.ts';
import type { Frame } from './frame.ts';
import type { Plan } from './plan.ts';
import { type Draft, type Guess, isRecognizable, type ShownDraft } from './shapes.ts';

export interface Visiting extends Omit<ScreenDeps, 'api'> {
  req: Request;
  res: Response;
  api: Api;
  caller: Caller;
  result: Draft;
  draft: ShownDraft;
  plan: Plan;
  frame: Frame;
  /** What was typed into the form of this step, if it was refused or the session had ended. */
  typed: Readonly<Record<string, string>>;
  /** Why the form was refused. */
  problem?: ApiError;
}

/** The draft of the address, in the API. */
export function draftPath(req: Request): string {
  return `/admin/v1/imports/${encodeURIComponent(String(req.params.importId))}`;
}

/** What the files look like; undefined while they have not begun to arrive, or why they cannot be recognized. */
export async function readGuess({ api, req, draft }: Visiting): Promise<Guess | string | undefined> {
  if (!isRecognizable(draft.files.filter(({ kind }) => kind !== 'hash_parameters'))) return undefined;
  try {
    return await api.get<Guess>(`${draftPath(req)}/guess`);
  } catch (error) {
    if (error instanceof ApiError && error.id === 'DRAFT-UNREADABLE') return error.message;
    throw error;
  }
}
