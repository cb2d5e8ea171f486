/** The fields of the form of an identity provider: those that its type needs, with what was typed. */
import type { Answer } from '../contract/client.ts';
import { type IdpType, OAUTH_TYPES } from '../contract/idp-presets.ts';
import { described, type Field, field, remarks } from '../platform/html/forms.ts';
import { type Html, html } from '../platform/text/html.ts';
import { choices } from './shell/blocks.ts';
import type { Refusal } from './shell/errors.ts';
import { PROVIDERS as TEXTS } from './texts/providers.ts';

export type Provider = Answer<'getIdp'>['idp'];
/** What was typed, or what is stored, by the name of the field. */
export type Values = Readonly<Record<string, string>>;

interface Form {
  type: IdpType;
  values: Values;
  refusal: Refusal | undefined;
  /** The provider as it is; absent: a new one. */
  idp?: Provider;
}

/** A field of the form, and the field of the API that it is sent as, where the names differ. */
type Known = [name: string, ofApi?: string];

function known(type: IdpType): Known[] {
  const apple: Known[] = [['teamId', 'apple.teamId'], ['keyId', 'apple.keyId'], ['privateKey']];
  const urls: Known[] = ['authorization', 'token', 'userInfo', 'emails'].map((name) => [name, `endpoints.${name}`]);
  return [
    ['name'],
    ['clientId'],
    ...(type === 'apple' ? apple : ([['clientSecret']] as Known[])),
    ...(type === 'oauth' ? urls : []),
    ...(OAUTH_TYPES.has(type) ? [] : ([['issuer']] as Known[])),
    ...(type === 'microsoft' ? ([['tenants']] as Known[]) : ([['trustsAddresses']] as Known[])),
    ...(['aliases', 'callbackPaths', 'domains', 'createDomains', 'subject', 'scopes', 'linking'] as const).map(
      (name): Known => [name],
    ),
  ];
}

/** The fields of the API that the form shows. */
export function providerFieldNames(type: IdpType): string[] {
  return known(type).map(([name, ofApi]) => ofApi ?? name);
}

/** The fields of a form for a provider of this type. */
export function providerFields(form: Form): Html {
  const { type, values, idp } = form;
  const one = (name: string, more: Partial<Field> = {}) => field({ ...about(form, name), ...more } as Field);
  const hasIssuer = !OAUTH_TYPES.has(type);
  return html`${one('name', { label: TEXTS.name, hint: TEXTS.nameHint })}
${one('clientId', { label: TEXTS.clientId, hint: TEXTS.clientIdHint })}
${type === 'apple' ? appleFields(form) : one('clientSecret', { ...secret(idp), label: TEXTS.clientSecret, type: 'password' })}
${hasIssuer ? one('issuer', { label: TEXTS.issuer, hint: TEXTS.issuerHint }) : undefined}
${type === 'oauth' ? addressFields(form) : undefined}
${lines(form, 'aliases', TEXTS.aliases, TEXTS.aliasesHint)}
${lines(form, 'callbackPaths', TEXTS.callbackPaths, TEXTS.callbackPathsHint)}
${lines(form, 'domains', TEXTS.domains, TEXTS.domainsHint)}
${type === 'microsoft' ? lines(form, 'tenants', TEXTS.tenants, TEXTS.tenantsHint) : undefined}
${choices(TEXTS.linking, 'linking', TEXTS.linkings, values.linking || 'policy')}
${type === 'microsoft' ? undefined : box(form, 'trustsAddresses', TEXTS.trustsAddresses)}
${lines(form, 'createDomains', TEXTS.createDomains, TEXTS.createDomainsHint)}
${one('subject', { label: TEXTS.subject })}
${one('scopes', { label: TEXTS.scopes, hint: TEXTS.scopesHint, isOptional: true })}
${idp && box(form, 'isEnabled', TEXTS.isEnabled)}`;
}

function about({ type, values, refusal }: Form, name: string) {
  const [, ofApi = name] = known(type).find(([one]) => one === name) ?? [];
  return { name, value: values[name], wrong: refusal?.wrong(ofApi) };
}

/** A field for a secret never shows one. */
function secret(idp: Provider | undefined): Partial<Field> {
  return { value: undefined, isOptional: true, hint: idp?.hasSecret ? TEXTS.secretKept : TEXTS.secretHint };
}

function appleFields(form: Form): Html {
  const hint = form.idp?.hasSecret ? TEXTS.secretKept : TEXTS.privateKeyHint;
  const hidden = { ...form, values: { ...form.values, privateKey: '' } };
  return html`${field({ ...about(form, 'teamId'), label: TEXTS.teamId })}${field({ ...about(form, 'keyId'), label: TEXTS.keyId })}
${lines(hidden, 'privateKey', TEXTS.privateKey, hint)}`;
}

function addressFields(form: Form): Html {
  const names = ['authorization', 'token', 'userInfo'] as const;
  return html`${names.map((name) => field({ ...about(form, name), label: TEXTS[name] }))}
${field({ ...about(form, 'emails'), label: TEXTS.emails, isOptional: true })}`;
}

/** Several values, one on each line. */
function lines(form: Form, name: string, label: string, hint: string): Html {
  const { value, wrong } = about(form, name);
  const said = { name, hint, wrong };
  return html`<div class="field"><label for="${name}">${label}</label>
<textarea id="${name}" name="${name}" rows="3" cols="48" spellcheck="false"${described(said)}>
${value ?? ''}</textarea>${remarks(said)}</div>`;
}

function box({ values }: Form, name: string, label: string): Html {
  const checked = values[name] ? html` checked` : undefined;
  return html`<div class="field"><label><input type="checkbox" name="${name}" value="1"${checked}>${label}</label></div>`;
}
