/** Every system whose export is understood. A new one: its file, one line here, a fixture, a page in docs/sources/. */
import { aspnet } from './aspnet.ts';
import { auth0 } from './auth0.ts';
import { clerk } from './clerk.ts';
import { cognito } from './cognito.ts';
import { devise } from './devise.ts';
import { django } from './django.ts';
import { firebase } from './firebase.ts';
import { fusionauth } from './fusionauth.ts';
import { keycloak } from './keycloak.ts';
import { kratos } from './kratos.ts';
import { laravel } from './laravel.ts';
import { ldif } from './ldif.ts';
import { csv, ndjson } from './mapped.ts';
import { okta } from './okta.ts';
import type { Source } from './source.ts';
import { supabase } from './supabase.ts';
import { supertokens } from './supertokens.ts';
import { wordpress } from './wordpress.ts';
import { zitadel } from './zitadel.ts';

export const SOURCES: readonly Source[] = [
  aspnet,
  auth0,
  clerk,
  cognito,
  csv,
  devise,
  django,
  firebase,
  fusionauth,
  keycloak,
  kratos,
  laravel,
  ldif,
  ndjson,
  okta,
  supabase,
  supertokens,
  wordpress,
  zitadel,
];
