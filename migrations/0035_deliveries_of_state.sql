-- Lists of deliveries in one state: an account may have many deliveries, and few or none in that state.
CREATE INDEX webhook_deliveries_of_state ON webhook_deliveries (account_id, state, id DESC);
