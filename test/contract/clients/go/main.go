// Imports three users with the client that openapi-generator made of `/openapi.json`, and signs one of them in.
// Arguments: address, token and a hash of the password `password`. Prints what the service answered.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"clientcheck/muster"
)

type person = muster.ImportBodyDataOrgsOrgsInnerHumanUsersInner

// must ends the program unless the call succeeded.
func must[T any](value T, response *http.Response, err error) T {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v: %+v\n", err, response)
		os.Exit(1)
	}
	return value
}

func human(userId, name, email, hash string) person {
	address := muster.NewImportUserEmail(email)
	address.SetIsEmailVerified(true)
	profile := muster.NewImportUserProfile(name, "Go")
	profile.SetGender("GENDER_UNSPECIFIED")
	user := muster.NewImportUser(*profile, *address)
	user.SetUserName(name)
	user.SetHashedPassword(*muster.NewImportUserHashedPassword(hash))
	user.SetRequestPasswordlessRegistration(false)
	entry := muster.NewImportBodyDataOrgsOrgsInnerHumanUsersInner(*user)
	entry.SetUserId(userId)
	return *entry
}

// accept sends the import. The generator returns one type for 200 and 202; the body of the 202 has another.
func accept(ctx context.Context, api *muster.ImportsAPIService, body muster.ImportBody) muster.ImportAccepted {
	_, response, err := api.ImportUsers(ctx).ImportBody(body).Execute()
	if response == nil || response.StatusCode != http.StatusAccepted {
		must(body, response, fmt.Errorf("expected 202: %w", err))
	}
	var accepted muster.ImportAccepted
	return must(accepted, response, json.NewDecoder(response.Body).Decode(&accepted))
}

func ended(ctx context.Context, api *muster.ImportsAPIService, importId string) *muster.ImportResult {
	for {
		result := must(api.GetImport(ctx, importId).Execute())
		if result.State != muster.IMPORT_STATE_RUNNING {
			return result
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func main() {
	url, token, hash := os.Args[1], os.Args[2], os.Args[3]
	config := muster.NewConfiguration()
	config.Servers = muster.ServerConfigurations{{URL: url}}
	client := muster.NewAPIClient(config)
	ctx := context.WithValue(context.Background(), muster.ContextAccessToken, token)

	org := must(client.OrganizationsAPI.CreateOrg(ctx).SetUpOrgRequestOrg(*muster.NewSetUpOrgRequestOrg("Go")).Execute())
	inactive := human("go2", "go-bob", "bob@go.example", hash)
	inactive.SetState("USER_STATE_INACTIVE")
	users := []person{human("go1", "go-ann", "ann@go.example", hash), inactive, human("go3", "go-cleo", "no address", hash)}
	orgs := []muster.ImportBodyDataOrgsOrgsInner{*muster.NewImportBodyDataOrgsOrgsInner(org.Id, users)}
	body := muster.NewImportBody(*muster.NewImportBodyDataOrgs(orgs), "10m0s")

	accepted := accept(ctx, client.ImportsAPI, *body)
	result := ended(ctx, client.ImportsAPI, accepted.ImportId)
	page := must(client.ImportsAPI.ListImportItems(ctx, accepted.ImportId).Execute())
	items := [][]any{}
	for _, item := range page.Items {
		var code any
		if item.Error != nil {
			code = item.Error.Code
		}
		items = append(items, []any{item.UserId, item.State, code})
	}
	errors := []string{}
	for _, failed := range result.Errors {
		errors = append(errors, failed.Id)
	}
	user := muster.NewCreateSessionRequestChecksUser()
	user.SetLoginName("go-ann")
	checks := muster.NewCreateSessionRequestChecks(*user)
	checks.SetPassword(*muster.NewCreateSessionRequestChecksPassword("password"))
	session := must(client.SessionsAPI.CreateSession(ctx).CreateSessionRequest(*muster.NewCreateSessionRequest(*checks)).Execute())
	seen := map[string]any{
		"state": result.State, "counts": result.Counts, "eta": result.Eta, "errors": errors, "items": items,
		"signedIn": session.SessionToken != "",
	}
	text, err := json.Marshal(seen)
	fmt.Println(string(must(text, nil, err)))
}
