/** What each step of a new import shows, and what its form does. */
import { parseDuration, timeoutProblem } from '../../contract/import-options.ts';
import { may } from '../../contract/permissions.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';
import { text } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { countUpdates, orgNames } from '../database.ts';
import { loginPath } from '../organization-login.ts';
import { providersPath } from '../providers.ts';
import { importOf, isReadable } from '../shapes.ts';
import { OPTIONS, STEPS } from '../texts/new-import.ts';
import { checkStep } from './check.ts';
import {
  chosenFields,
  columnsStep,
  isSheetUnreadable,
  mappingOf,
  requireSource,
  sourceStep,
  systemMapping,
  typedFields,
  unclearIn,
} from './columns.ts';
import { decideStep, pepperHeaders } from './decide.ts';
import { buttons, hrefOf, readGuess, type StepName, stepPath, type WizardStep } from './frame.ts';
import {
  likelyOrg,
  namesNoOrganization,
  optionsStep,
  organizationsOf,
  requireFormula,
  requireNamed,
  requireSourceOf,
  sourceName,
  sourcesOf,
} from './options.ts';
import {
  commandFor,
  conversionOf,
  draftState,
  encodingIn,
  isChecked,
  isConverted,
  isMapped,
  isSameTable,
  type Plan,
  queryOfPlan,
  sourceOf,
} from './plan.ts';
import { mailingOf } from './proofs.ts';

type View = (on: WizardStep) => Promise<Html | undefined>;
/** Returns where to go next. */
type Act = (on: WizardStep) => Promise<string>;

const EXAMPLES = 5;
/** The newest imports, among which those are that started after a check. */
const LATEST = 50;
/** A million users are checked within minutes. */
const LEAST_CHECK = '1h';

export const VIEWS: Record<StepName, View> = {
  files: async ({ frame }) =>
    frame.files.length === 0
      ? undefined
      : buttons(frame, html`<a class="button" href="${hrefOf(frame, 'source')}">${STEPS.next(STEPS.source)}</a>`),
  async source(on) {
    const guess = await readGuess(on);
    const found = typeof guess === 'string' ? { guess: undefined, problem: guess } : { guess, problem: undefined };
    const { typed, plan } = on;
    const encoding = typed.encoding === undefined ? plan.encoding : encodingIn(typed);
    const source = typed.source ?? sourceOf(plan, guess);
    const wrong = on.problem?.violations.find(({ field }) => field === 'source')?.description;
    return sourceStep(on.frame, { ...found, source, wrong, encoding, sheet: plan.sheet, live: liveOf(on) });
  },
  async columns(on) {
    const guess = await readGuess(on);
    const source = sourceOf(on.plan, guess);
    if (typeof guess === 'string' || (guess && source === '') || isSheetUnreadable(guess))
      return redirect(on, 'source');
    // A script shows what else is chosen in the form, before it is sent.
    const typed = text(on.req.query, 'show') === '1' ? on.req.query : on.typed;
    const chosen =
      Object.keys(typed).length > 0
        ? typedFields(typed)
        : guess
          ? chosenFields(on.plan.mapping, guess)
          : new Map<string, string>();
    return columnsStep(on.frame, { guess, source, chosen, problem: on.problem?.message, live: liveOf(on) });
  },
  async options(on) {
    const { typed, problem, plan } = on;
    const wrong = (field: string) => problem?.violations.find((one) => one.field === field)?.description;
    const timeout = wrong('timeout') && OPTIONS.timeoutWrong(on.config.MAX_IMPORT_TIMEOUT);
    const organizations = await organizationsOf(on);
    const mayCreate = may(on.caller, 'createOrg');
    return optionsStep(on.frame, {
      plan:
        Object.keys(typed).length > 0
          ? typedPlan(plan, typed)
          : { ...plan, orgId: plan.orgId || likelyOrg(organizations, mayCreate) },
      organizations,
      sources: await sourcesOf(on, organizations),
      mayCreate,
      newOrganization: typed.newOrg ?? '',
      problem: problem && problem.violations.length === 0 ? problem.message : undefined,
      wrong: {
        timeout,
        organization: wrong('org'),
        newOrganization: wrong('name'),
        passwords: wrong('passwordSource'),
        hashFormat: wrong('hashFormat'),
      },
      hasFiles: on.draft.files.length > 0,
      namesNone: namesNoOrganization(plan, await readGuess(on)),
    });
  },
  async check(on) {
    const { result, plan, problem } = on;
    return checkStep(on.frame, { result, plan, liveHref: liveOf(on).href, problem });
  },
  async decide(on) {
    const { api, draft, plan, result, config, pool, problem } = on;
    const id = draft.check?.importId;
    if (!id || !isChecked(plan, result)) return redirect(on, 'check');
    const examples = { state: 'ITEM_STATE_SUCCEEDED', pageSize: EXAMPLES };
    const [check, causes, { items }, mailing, earlier, latest] = await Promise.all([
      api.call('getImport', { importId: id }),
      api.call('listImportCauses', importOf(on.req)),
      api.call('listImportItems', { importId: id }, { query: examples }),
      mailingOf(on),
      api.call('listEarlierImports', importOf(on.req)),
      api.call('listImports', { query: { drafts: 'false', pageSize: LATEST } }),
    ]);
    const updates = plan.onExisting === 'update' ? await countUpdates(pool, id) : 0;
    const [org, ...others] = check.orgs.map(({ orgId }) => orgId);
    const mayPolicy = org !== undefined && others.length === 0 && may(on.caller, 'updateLoginPolicy', org);
    const limits = [config.MAIL_RATE, config.MAIL_RATE_PER_IMPORT].filter((rate) => rate > 0);
    return decideStep(on.frame, {
      draft,
      plan,
      check,
      causes,
      updates,
      ...mailing,
      earlier: earlier.imports,
      startedSince: latest.imports.some((one) => !one.dryRun && isLater(one, check)),
      tried: on.tried,
      problem: problem?.message,
      passwordSource: await sourceName(on),
      policyHref: mayPolicy ? on.consoleUrl(loginPath(org)) : undefined,
      providersHref: providersHrefOf(on, others.length === 0 ? org : undefined),
      orgNames: await orgNames(
        pool,
        check.orgs.map(({ orgId }) => orgId),
      ),
      undoMs: parseDuration(config.IMPORT_TTL) ?? 0,
      names: items.map(({ userName }) => userName),
      mailRate: limits.length > 0 ? Math.min(...limits) : 0,
      command: commandFor(draft, plan),
    });
  },
};

interface Started {
  startDate?: string | undefined;
}

/** Whether an import started after another. */
function isLater({ startDate }: Started, than: Started): boolean {
  return startDate !== undefined && than.startDate !== undefined && Date.parse(startDate) > Date.parse(than.startDate);
}

/** Of the organization of all users, or else of the service. */
function providersHrefOf({ caller, consoleUrl }: WizardStep, org: string | undefined): string | undefined {
  if (!may(caller, org === undefined ? 'addInstanceIdp' : 'addIdp', org)) return undefined;
  return consoleUrl(providersPath(org));
}

export const ACTS: Record<StepName, Act> = {
  files: async (on) => to(on, 'source', on.plan),
  async source(on) {
    const { plan, req } = on;
    const source = text(req.body, 'source');
    const encoding = encodingIn(req.body);
    const sheet = text(req.body, 'sheet');
    const mapping = isSameTable({ source, encoding, sheet }, plan) ? plan.mapping : {};
    // In another encoding, the files may be recognized as another system's, unless the person has chosen the source.
    if (text(req.body, 'read') === '1')
      return to(on, 'source', {
        ...plan,
        source: source === text(req.body, 'shown') ? plan.source : source,
        encoding,
        sheet,
        mapping,
      });
    requireSource(source);
    // There is nothing to map for most exports of known systems; the step can still be visited.
    const next = { ...plan, source, encoding, sheet, mapping };
    const guess = await readGuess({ ...on, plan: next });
    if (isSheetUnreadable(guess)) return to(on, 'source', next);
    const isAsked = isMapped(source) || unclearIn(source, guess).length > 0;
    return to(on, isAsked ? 'columns' : 'options', next);
  },
  async columns(on) {
    const guess = await readGuess(on);
    const source = sourceOf(on.plan, guess);
    if (typeof guess !== 'object') return to(on, 'options', { ...on.plan, source });
    requireSource(source);
    const typed = typedFields(on.req.body);
    const mapping = isMapped(source) ? mappingOf(typed, guess) : systemMapping(typed);
    if (typeof mapping === 'string') throw new ApiError('INVALID_ARGUMENT', 'CONSOLE-MAPPING', mapping);
    return to(on, text(on.req.body, 'show') === '1' ? 'columns' : 'options', { ...on.plan, source, mapping });
  },
  async options(on) {
    const plan = typedPlan(on.plan, on.req.body);
    const problem = timeoutProblem(plan.timeout, on.config.MAX_IMPORT_TIMEOUT);
    if (problem) throw invalidArgument('CONSOLE-OPTIONS', problem, [{ field: 'timeout', description: problem }]);
    requireFormula(plan);
    const name = text(on.req.body, 'newOrg').trim();
    const hasFiles = on.draft.files.length > 0;
    if (plan.orgId === '' && name === '')
      requireNamed(plan, await readGuess(on), { mayCreate: may(on.caller, 'createOrg'), hasFiles });
    await requireSourceOf(on, plan, name !== '');
    if (!name) return to(on, 'check', plan);
    const { id } = await on.api.call('createOrg', { body: { name } });
    return to(on, 'check', { ...plan, orgId: id });
  },
  /** Reads the files or checks the users, whichever is missing. */
  async check(on) {
    const { api, req, plan, draft, result } = on;
    const isReady = ['IMPORT_STATE_DRAFT', 'IMPORT_STATE_CHECKED'].includes(result.state);
    if (!isReadable(result)) return to(on, 'check', plan);
    if (result.state === 'IMPORT_STATE_CONVERTING' || result.state === 'IMPORT_STATE_CHECKING')
      return to(on, 'check', plan);
    // Another tab may have done it already.
    const part = text(req.body, 'part');
    const isRead = isReady && isConverted(plan, draft);
    if ((part === 'read' && isRead) || (part === 'check' && isRead && isChecked(plan, result)))
      return to(on, 'check', plan);
    const headers = pepperHeaders(req.body);
    if (!isRead || headers)
      await api.call('convertImport', importOf(req), { body: conversionOf(plan), headers: headers ?? {} });
    else {
      const { onExisting, mails, enterpriseMailCodes } = plan;
      const timeout = checkLimit(plan.timeout, on.config.MAX_IMPORT_TIMEOUT);
      await api.call('checkImport', importOf(req), { body: { onExisting, mails, enterpriseMailCodes, timeout } });
    }
    return to(on, 'check', plan);
  },
  async decide(on) {
    const { api, req, plan, frame } = on;
    const mails = text(req.body, 'mails') === 'auto' ? 'auto' : 'none';
    const skipBroken = text(req.body, 'skipBroken') === '1';
    const { onExisting, timeout, enterpriseMailCodes } = plan;
    const body = { onExisting, timeout, enterpriseMailCodes, skipBroken };
    await api.call('startImport', importOf(req), { body: { ...body, mails } });
    return `/imports/${frame.importId}`;
  },
};

/**
 * The time limit of a check. It is not that of the import, which may be short on purpose: a check that ends early says
 * nothing about the users whom it did not reach.
 */
function checkLimit(ofImport: string, most: string): string {
  const ms = (limit: string) => parseDuration(limit) ?? 0;
  if (ms(ofImport) >= ms(LEAST_CHECK)) return ofImport;
  return ms(most) < ms(LEAST_CHECK) ? most : LEAST_CHECK;
}

function to({ draft, frame }: WizardStep, step: StepName, plan: Plan): string {
  return stepPath(frame.importId, step, queryOfPlan(plan, draft));
}

function redirect({ res, frame }: WizardStep, step: StepName): undefined {
  res.redirect(303, hrefOf(frame, step));
}

function liveOf({ consoleUrl, frame, result }: WizardStep): { href: string; shape: string } {
  return { href: consoleUrl(`/imports/new/${frame.importId}/live`), shape: draftState(result).shape };
}

function typedPlan(plan: Plan, body: unknown): Plan {
  const existing = text(body, 'existing');
  return {
    ...plan,
    orgId: text(body, 'org'),
    onExisting: existing === 'skip' || existing === 'update' ? existing : 'fail',
    mails: text(body, 'mails') === 'auto' ? 'auto' : 'none',
    enterpriseMailCodes: text(body, 'enterpriseCodes') === '1',
    withoutEmail: text(body, 'noEmail') === '1',
    passwordSource: text(body, 'passwords'),
    hashFormat: text(body, 'hashFormat').trim(),
    timeout: text(body, 'timeout').trim(),
  };
}
