/** All supported source systems. CONTRIBUTING.md says how to add one. */

import type { Source } from './source.ts';
import { aspnet } from './systems/aspnet/aspnet.ts';
import { auth0 } from './systems/auth0/auth0.ts';
import { clerk } from './systems/clerk/clerk.ts';
import { cognito } from './systems/cognito.ts';
import { devise } from './systems/devise.ts';
import { django } from './systems/django.ts';
import { firebase } from './systems/firebase/firebase.ts';
import { fusionauth } from './systems/fusionauth/fusionauth.ts';
import { keycloak } from './systems/keycloak/keycloak.ts';
import { kratos } from './systems/kratos/kratos.ts';
import { laravel } from './systems/laravel.ts';
import { ldif } from './systems/ldif/ldif.ts';
import { csv, ndjson } from './systems/mapped.ts';
import { okta } from './systems/okta/okta.ts';
import { supabase } from './systems/supabase/supabase.ts';
import { supertokens } from './systems/supertokens/supertokens.ts';
import { wordpress } from './systems/wordpress/wordpress.ts';
import { zitadel } from './systems/zitadel/zitadel.ts';

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
