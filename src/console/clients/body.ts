/** The pages of OAuth clients: the list, a new one, removing one. */
import { type Html, html } from '../../html.ts';
import type { At } from '../page/at.ts';
import { headline, notice, selectField, textField } from '../page/blocks.ts';
import { time } from '../page/format.ts';
import type { Refusal } from '../page/refusal.ts';
import { CLIENTS } from '../texts/clients.ts';

export interface Client {
  clientId: string;
  name: string;
  redirectUris: string[];
  grantTypes: string[];
  authMethod: string;
  details: { creationDate: string };
}

/** What an application is, by the way in which it can keep a secret. */
export const KINDS = {
  web: { grantTypes: ['authorization_code', 'refresh_token'], authMethod: 'client_secret_basic' },
  native: { grantTypes: ['authorization_code', 'refresh_token'], authMethod: 'none' },
  service: { grantTypes: ['client_credentials'], authMethod: 'client_secret_basic' },
} as const;
export type Kind = keyof typeof KINDS;

export function listBody(at: At, clients: readonly Client[]): Html {
  const create = html`<a class="button" href="${at('/clients/new')}">${CLIENTS.create}</a>`;
  return html`${headline(CLIENTS.title, undefined, create)}
${clients.length === 0 ? html`<section class="card empty"><h2>${CLIENTS.none}</h2><p>${CLIENTS.noneHint}</p></section>` : table(at, clients)}`;
}

function table(at: At, clients: readonly Client[]): Html {
  return html`<section class="card flush"><table class="stack"><caption class="sr">${CLIENTS.title}</caption>
<thead><tr><th scope="col">${CLIENTS.name}</th><th scope="col">${CLIENTS.id}</th><th scope="col">${CLIENTS.kind}</th>
<th scope="col">${CLIENTS.redirectUris}</th><th scope="col">${CLIENTS.created}</th><th scope="col">${CLIENTS.action}</th></tr></thead>
<tbody>${clients.map(
    (client) => html`<tr><th scope="row">${client.name}</th>
<td data-label="${CLIENTS.id}"><code>${client.clientId}</code></td>
<td data-label="${CLIENTS.kind}">${CLIENTS.kinds[kindOf(client)]}</td>
<td data-label="${CLIENTS.redirectUris}"><span>${client.redirectUris.join(' ')}</span></td>
<td data-label="${CLIENTS.created}">${time(client.details.creationDate)}</td>
<td data-label="${CLIENTS.action}"><a href="${at(removePath(client.clientId))}">${CLIENTS.remove}<span class="sr"> ${client.name}</span></a></td></tr>\n`,
  )}</tbody></table></section>`;
}

function kindOf({ authMethod, grantTypes }: Client): Kind {
  if (authMethod === 'none') return 'native';
  return grantTypes.includes('authorization_code') ? 'web' : 'service';
}

function removePath(clientId: string): string {
  return `/clients/${encodeURIComponent(clientId)}/remove`;
}

export function createBody(at: At, values: Readonly<Record<string, string>>, refusal?: Refusal): Html {
  const kinds = Object.entries(CLIENTS.kinds);
  return html`${headline(CLIENTS.create, { href: at('/clients'), text: CLIENTS.title })}
${notice(refusal?.message, 'bad')}
<form class="card confirm" method="post" action="${at('/clients/new')}">
${textField({ name: 'name', label: CLIENTS.name, value: values.name, hint: CLIENTS.nameHint, isRequired: true, wrong: refusal?.wrong('name') })}
<div class="field">${selectField(CLIENTS.kind, 'kind', kinds, values.kind || 'web')}</div>
${lines('redirectUris', CLIENTS.redirectUris, values, refusal)}
${lines('postLogoutRedirectUris', CLIENTS.logoutUris, values, refusal)}
<p>${CLIENTS.createEffect}</p>
<div class="buttons"><button type="submit">${CLIENTS.create}</button></div></form>`;
}

function lines(name: string, label: string, values: Readonly<Record<string, string>>, refusal?: Refusal): Html {
  const wrong = refusal?.wrong(name);
  return html`<div class="field"><label for="${name}">${label}</label>
<textarea id="${name}" name="${name}" rows="3" cols="48" spellcheck="false" aria-describedby="${name}-hint${wrong ? ` ${name}-wrong` : ''}"${
    wrong ? html` aria-invalid="true"` : undefined
  }>
${values[name] ?? ''}</textarea><p class="hint" id="${name}-hint">${CLIENTS.linesHint}</p>
${wrong && html`<p class="wrong" id="${name}-wrong">${wrong}</p>`}</div>`;
}

export function removeBody(at: At, client: Client, refusal?: Refusal): Html {
  const page = at('/clients');
  return html`${headline(CLIENTS.removeTitle(client.name), { href: page, text: CLIENTS.title })}
${notice(refusal?.message, 'bad')}
<form class="card confirm" method="post" action="${at(removePath(client.clientId))}">
<ul>${CLIENTS.removeEffects.map((effect) => html`<li>${effect}</li>\n`)}</ul>
<div class="buttons"><button class="danger" type="submit">${CLIENTS.remove}</button><a class="button quiet" href="${page}">${CLIENTS.back}</a></div></form>`;
}
