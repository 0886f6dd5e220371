MODEL (
  name mart.delays_by_airline,
  kind VIEW,
  owner 'flights',
  description 'Delays by scheduled day and airline, with names for people',
  grain (flight_date, carrier)
);

SELECT
  c.flight_date AS flight_date, -- Scheduled day, UTC
  c.carrier AS carrier, -- Two letter code of the airline
  COALESCE(n.name, c.carrier) AS airline, -- Its name, or the code where the seed has none
  c.flights AS flights, -- Scheduled flights known so far
  c.cancelled AS cancelled, -- Of them cancelled
  c.departed AS departed, -- Of them departed
  c.arrived AS arrived, -- Of them arrived
  c.total_departure_delay_minutes AS total_departure_delay_minutes, -- Early is negative
  c.departed_over_15_late AS departed_over_15_late, -- By more than 15 minutes
  c.mean_departure_delay_minutes AS mean_departure_delay_minutes, -- Null where none departed
  c.mean_arrival_delay_minutes AS mean_arrival_delay_minutes -- Null where none arrived
FROM mart.carrier_delays AS c
LEFT JOIN staging.airlines AS n
  ON n.carrier = c.carrier
