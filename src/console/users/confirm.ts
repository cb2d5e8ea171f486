/** The page that says what an action on a user will do, with the form that does it. */
import { type Html, html } from '../../html.ts';
import type { At } from '../page/at.ts';
import { headline, notice, textField } from '../page/blocks.ts';
import { USER_ACTIONS, USER_CONFIRM } from '../texts/user.ts';
import type { Action, Subject } from './actions.ts';
import { nameOf, userPath } from './shapes.ts';

export interface Confirmation {
  subject: Subject;
  action: Action;
  /** The person would do it to themselves. */
  isSelf: boolean;
  /** Why the action was refused. */
  problem?: string | undefined;
  /** What was typed as the user name. */
  typed?: string | undefined;
}

export function confirmBody(at: At, { subject, action, isSelf, problem, typed }: Confirmation): Html {
  const { user } = subject;
  const page = at(userPath(user.userId));
  const texts = USER_ACTIONS[action.name];
  const isStop = ['lock', 'deactivate', 'delete'].includes(action.name);
  return html`${headline(texts.title(nameOf(user)), { href: page, text: nameOf(user) })}
${notice(problem, 'bad')}
<section class="card confirm">
<p><strong>${user.preferredLoginName}</strong></p>
<ul>${action.effects(subject).map((effect) => html`<li>${effect}</li>\n`)}</ul>
${isSelf && isStop ? notice(USER_CONFIRM.self, 'warn') : undefined}
<form method="post" action="${at(`${userPath(user.userId)}/${action.name}`)}">
${action.isFinal && nameToType(user.username, typed)}
<div class="buttons"><button type="submit"${action.isFinal ? html` class="danger"` : undefined}>${texts.button}</button>
<a class="button quiet" href="${page}">${USER_CONFIRM.back}</a></div>
</form>
</section>`;
}

function nameToType(userName: string, typed: string | undefined): Html {
  const isWrong = typed !== undefined && typed !== '' && typed !== userName;
  return textField({
    name: 'userName',
    label: USER_CONFIRM.type(userName),
    value: typed,
    isRequired: true,
    wrong: isWrong ? USER_CONFIRM.wrong : undefined,
  });
}
