/**
 * What a person takes along and leaves: the download of what is stored about them, and the deletion of the account, where
 * the organization allows it.
 *
 * Guarantee: the person has just signed in; a download is asked for by a form, so that no link leads to it; who deletes
 * the account types its name. The last IAM_OWNER stays. The address is told afterwards, by a mail that does not go with
 * the account.
 *
 * On crash: the account is deleted with its mail written, or is not.
 */
import { selfDeletionAllowed } from '../../directory/policies.ts';
import { deleteOwn, findUser, loginNames } from '../../directory/users/store.ts';
import { transaction } from '../../platform/db/pool.ts';
import { nameKey } from '../../platform/fields.ts';
import { field, type Problem, text } from '../../platform/html/forms.ts';
import { messagePage, sendPage } from '../../platform/html/layout.ts';
import { sendText } from '../../platform/http/answers.ts';
import { say, sayHtml } from '../../platform/messages/catalogue.ts';
import { html } from '../../platform/text/html.ts';
import { type Content, FormProblem, opening, type Section, stillThere, type Visit } from './section.ts';
import { storedDataOf } from './stored-data.ts';

export const DATA: Section = {
  path: 'data',
  title: 'account.data',
  needsRecent: true,
  show: showData,
  steps: { download },
};

async function showData(visit: Visit): Promise<Content> {
  const body = html`<p>${say('account.dataWhat')}</p>
<p>${say('account.dataElsewhere')}</p>
${opening(visit, DATA.path, { step: 'download' })}
<button type="submit">${say('account.download')}</button>
</form>`;
  return { body };
}

async function download({ deps, res, person }: Visit): Promise<undefined> {
  res.set('Content-Type', 'application/json; charset=utf-8');
  res.set('Content-Disposition', 'attachment; filename="my-data.json"');
  await sendText(res, storedDataOf(deps.pool, person.user));
}

export const DELETION: Section = {
  path: 'delete',
  title: 'account.delete',
  needsRecent: true,
  show: showDeletion,
  steps: { delete: remove },
  problems: {
    'MEMBER-LAST-OWNER': { message: 'account.lastAdministrator', fields: [] },
    'USER-DELETE-SELF': { message: 'account.deleteRefused', fields: [] },
  },
};

async function showDeletion(visit: Visit, problem?: Problem): Promise<Content> {
  const { deps, person } = visit;
  if (!(await selfDeletionAllowed(deps.pool, person.user.id))) {
    return { body: html`<p>${say('account.deleteNotAllowed')}</p>` };
  }
  const [name = ''] = loginNames(person.user);
  const body = html`<p>${sayHtml('account.deleteWhat', { name })}</p>
<p>${sayHtml('account.deleteKept', { link: (inside) => html`<a href="data">${inside}</a>` })}</p>
${opening(visit, DELETION.path, { step: 'delete' })}
${field({ problem, name: 'loginName', label: say('account.typeToConfirm', { name }), autocomplete: 'off' })}
<button type="submit" class="danger">${say('account.deleteMine')}</button>
</form>`;
  return { body };
}

async function remove({ deps, req, res, person }: Visit): Promise<undefined> {
  const typed = nameKey(text(req.body, 'loginName').trim());
  if (!loginNames(person.user).some((name) => nameKey(name) === typed)) {
    throw new FormProblem({ message: say('account.deleteNameWrong'), fields: ['loginName'] });
  }
  await transaction(deps.pool, async (db) => {
    await deleteOwn(db, stillThere(await findUser(db, person.user.id, 'for update')));
  });
  sendPage(res, 200, messagePage(say('account.deleted'), say('account.deletedWhat')));
}
