module clientcheck

go 1.19

require (
	golang.org/x/oauth2 v0.24.0
	gopkg.in/validator.v2 v2.0.1
)
