/** All supported source systems. CONTRIBUTING.md says how to add one. */

import type { Source } from './source.ts';
import { akamai } from './systems/akamai/akamai.ts';
import { appwrite } from './systems/appwrite/appwrite.ts';
import { aspnet } from './systems/aspnet/aspnet.ts';
import { auth0 } from './systems/auth0/auth0.ts';
import { authentik } from './systems/authentik/authentik.ts';
import { authjs } from './systems/authjs/authjs.ts';
import { betterAuth } from './systems/better-auth/better-auth.ts';
import { casdoor } from './systems/casdoor/casdoor.ts';
import { clerk } from './systems/clerk/clerk.ts';
import { cognito } from './systems/cognito.ts';
import { descope } from './systems/descope/descope.ts';
import { devise } from './systems/devise.ts';
import { discourse } from './systems/discourse/discourse.ts';
import { django } from './systems/django.ts';
import { drupal } from './systems/drupal/drupal.ts';
import { entra } from './systems/entra/entra.ts';
import { firebase } from './systems/firebase/firebase.ts';
import { forgerock } from './systems/forgerock/forgerock.ts';
import { frontegg } from './systems/frontegg/frontegg.ts';
import { fusionauth } from './systems/fusionauth/fusionauth.ts';
import { joomla } from './systems/joomla/joomla.ts';
import { keycloak } from './systems/keycloak/keycloak.ts';
import { kratos } from './systems/kratos/kratos.ts';
import { laravel } from './systems/laravel.ts';
import { ldif } from './systems/ldif/ldif.ts';
import { logto } from './systems/logto/logto.ts';
import { csv, ndjson } from './systems/mapped.ts';
import { okta } from './systems/okta/okta.ts';
import { passport } from './systems/passport/passport.ts';
import { phpbb } from './systems/phpbb/phpbb.ts';
import { pingone } from './systems/pingone/pingone.ts';
import { pocketbase } from './systems/pocketbase/pocketbase.ts';
import { scim } from './systems/scim/scim.ts';
import { spring } from './systems/spring/spring.ts';
import { stytch } from './systems/stytch/stytch.ts';
import { supabase } from './systems/supabase/supabase.ts';
import { supertokens } from './systems/supertokens/supertokens.ts';
import { wordpress } from './systems/wordpress/wordpress.ts';
import { workos } from './systems/workos/workos.ts';
import { zitadel } from './systems/zitadel/zitadel.ts';

export const SOURCES: readonly Source[] = [
  akamai,
  appwrite,
  aspnet,
  auth0,
  authentik,
  authjs,
  betterAuth,
  casdoor,
  clerk,
  cognito,
  csv,
  descope,
  devise,
  discourse,
  django,
  drupal,
  entra,
  firebase,
  forgerock,
  frontegg,
  fusionauth,
  joomla,
  keycloak,
  kratos,
  laravel,
  ldif,
  logto,
  ndjson,
  okta,
  passport,
  phpbb,
  pingone,
  pocketbase,
  scim,
  spring,
  stytch,
  supabase,
  supertokens,
  wordpress,
  workos,
  zitadel,
];
