/** The routes of a new import: each step has an address; what it reads and changes goes through the API. */
import { type Request, type Response, Router } from 'express';
import { orgsFor } from '../../contract/permissions.ts';
import { ApiError } from '../../platform/errors.ts';
import { type Html, html } from '../../platform/text/html.ts';
import type { ScreenDeps } from '../deps.ts';
import { guideList } from '../imports/guide.ts';
import { sessionOf } from '../session.ts';
import { type Draft, importOf, isDraft } from '../shapes.ts';
import { importBadge, parameter } from '../shell/blocks.ts';
import { openLive } from '../shell/live.ts';
import { sendMailDocument } from '../shell/mail-frame.ts';
import { UPLOAD_SCRIPTS } from '../shell/upload.ts';
import { DECIDE, STEPS } from '../texts/new-import.ts';
import { discardPage } from './decide.ts';
import { type Frame, marksOf, STEP_NAMES, type StepName, stepPage, stepPath, type WizardStep } from './frame.ts';
import { draftState, isMapped, planOf, queryOfPlan } from './plan.ts';
import { MAIL_PATH, TRY_PATH, tryTyped } from './proofs.ts';
import { ACTS, VIEWS } from './steps.ts';

const NEW = '/console/imports/new';
const ONE = `${NEW}/:importId`;

export function newImportScreens(deps: ScreenDeps): Router {
  const router = Router();
  const live = openLive();
  router.get(NEW, (req, res) => {
    orgsFor(sessionOf(res).caller, 'createImport');
    const frame: Frame = {
      consoleUrl: deps.consoleUrl,
      importId: '',
      step: 'files',
      files: [],
      query: '',
    };
    const body = stepPage(frame, guideList(deps.consoleUrl));
    deps.show(req, res, { title: STEPS.title, body, scripts: UPLOAD_SCRIPTS });
  });
  router.get(ONE, async (req, res) => {
    const result = await sessionOf(res).api.call('getImport', importOf(req));
    const { importId } = result;
    res.redirect(303, deps.consoleUrl(isDraft(result) ? stepPath(importId, stepOf(result)) : `/imports/${importId}`));
  });
  router.get(`${ONE}/live`, (req, res) =>
    live.stream(res, `draft ${req.params.importId}`, async ({ api }) =>
      draftState(await api.call('getImport', importOf(req))),
    ),
  );
  router.get(`${ONE}/discard`, async (req, res) => {
    const result = await sessionOf(res).api.call('getImport', importOf(req));
    if (!isDraft(result) || isDiscarded(result))
      return res.redirect(303, deps.consoleUrl(`/imports/new/${result.importId}`));
    deps.show(req, res, { title: DECIDE.discardTitle, body: discardPage(deps.consoleUrl, result.importId) });
  });
  router.post(`${ONE}/discard`, async (req, res) => {
    const { api } = sessionOf(res);
    const { importId, draft } = await api.call('getImport', importOf(req));
    if (draft) await api.call('discardImport', { importId });
    res.redirect(303, deps.consoleUrl(draft ? '/imports' : `/imports/${importId}`));
  });
  // After a sign-in in between; what was typed is gone.
  router.get(`${ONE}/${TRY_PATH}`, async (req, res) => {
    const { importId } = await sessionOf(res).api.call('getImport', importOf(req));
    res.redirect(303, deps.consoleUrl(stepPath(importId, 'decide')));
  });
  router.post(`${ONE}/${TRY_PATH}`, async (req, res) => {
    const on = await open(deps, req, res, 'decide');
    if (on) await showOpen(deps, { ...on, tried: await tryTyped(on) });
  });
  router.get(`${ONE}/${MAIL_PATH}/:kind/:language`, async (req, res) => {
    const orgId = parameter(req, 'orgId');
    const query = orgId === '' ? {} : { orgId };
    const { mails } = await sessionOf(res).api.call('previewImportMails', importOf(req), { query });
    const mail = mails.find(({ kind, language }) => kind === req.params.kind && language === req.params.language);
    if (!mail) throw new ApiError('NOT_FOUND', 'CONSOLE-PATH', 'This page does not exist.');
    sendMailDocument(res, mail.html);
  });
  router.get(`${ONE}/:step`, (req, res) => showStep(deps, req, res, undefined));
  router.post(`${ONE}/:step`, (req, res) => act(deps, req, res));
  return router;
}

function isDiscarded({ state }: Draft): boolean {
  return state === 'IMPORT_STATE_DISCARDED';
}

/** Where a person who returns to a draft continues. */
function stepOf({ state, draft }: Draft): StepName {
  if (state === 'IMPORT_STATE_CHECKED') return 'decide';
  if (state !== 'IMPORT_STATE_UPLOADING') return 'check';
  return draft.conversion ? 'check' : 'files';
}

/** @returns undefined after it has led on to an import that started meanwhile, as in another tab */
async function open(
  { consoleUrl, ...deps }: ScreenDeps,
  req: Request,
  res: Response,
  named: unknown = req.params.step,
): Promise<WizardStep | undefined> {
  const step = STEP_NAMES.find((name) => name === named);
  if (!step) throw new ApiError('NOT_FOUND', 'CONSOLE-PATH', 'This page does not exist.');
  const { api, caller, kept } = sessionOf(res);
  const result = await api.call('getImport', importOf(req));
  const { importId } = result;
  if (!isDraft(result)) {
    res.redirect(303, consoleUrl(`/imports/${importId}`));
    return undefined;
  }
  const { draft } = result;
  const { files, expiresAt } = draft;
  const plan = planOf(req.query, draft);
  const isOpen = files.length > 0 || result.state !== 'IMPORT_STATE_UPLOADING';
  const isAsked = isMapped(plan.source) || Object.keys(plan.mapping).length > 0;
  const skips: StepName[] = plan.source && !isAsked ? ['columns'] : [];
  const query = queryOfPlan(plan, draft);
  const nothingToDo = Object.fromEntries(skips.map((name) => [name, 'done'] as const));
  const marks = isOpen ? { ...nothingToDo, ...marksOf(result, plan) } : undefined;
  const frame = { consoleUrl, importId, step, files, marks, query, expiresAt, skips, state: importBadge(result) };
  return { consoleUrl, ...deps, req, res, api, caller, result, draft, frame, plan, typed: kept };
}

async function showStep(deps: ScreenDeps, req: Request, res: Response, problem: ApiError | undefined): Promise<void> {
  const on = await open(deps, req, res);
  if (!on) return;
  if (problem) {
    Object.assign(on, { problem, typed: req.body as Record<string, string> });
    on.frame.marks = { ...on.frame.marks, [on.frame.step]: 'wrong' };
  }
  await showOpen(deps, on);
}

async function showOpen({ show }: ScreenDeps, on: WizardStep): Promise<void> {
  const { req, res, problem } = on;
  if (isDiscarded(on.result)) return show(req, res, { title: STEPS.title, body: discarded(on) });
  const content = await VIEWS[on.frame.step](on);
  if (res.headersSent) return;
  const body = stepPage(on.frame, content);
  const title = `${STEPS[on.frame.step]} – ${STEPS.title}`;
  show(req, res, {
    title,
    body,
    status: problem?.http ?? 200,
    scripts: UPLOAD_SCRIPTS,
    frames: on.frame.step === 'decide',
  });
}

function discarded({ consoleUrl }: WizardStep): Html {
  return html`<section class="message" data-steps><h1>${STEPS.title}</h1><p role="status">${STEPS.discarded}</p>
<p><a class="button" href="${consoleUrl('/imports/new')}">${STEPS.again}</a></p></section>`;
}

/** What a person can correct is shown beside the form. */
async function act(deps: ScreenDeps, req: Request, res: Response): Promise<void> {
  const on = await open(deps, req, res);
  if (!on) return;
  try {
    const next = await ACTS[on.frame.step](on);
    res.redirect(303, deps.consoleUrl(next));
  } catch (error) {
    if (!(error instanceof ApiError) || ![400, 409].includes(error.http)) throw error;
    await showStep(deps, req, res, error);
  }
}
