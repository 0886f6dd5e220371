"""Writes the seeds and landing.duckdb, the file that the sources read. Everything is invented, and the same each time."""
import csv, random, datetime as dt, pathlib, duckdb
R = random.Random(7)
here = pathlib.Path(__file__).parent
def seed(name, head, rows):
    with open(here / "seeds" / f"{name}.csv", "w", newline="") as f:
        w = csv.writer(f); w.writerow(head); w.writerows(rows)
seed("country_codes", ["code", "Country Name", "eu"], [
    ["AT", "Austria", "true"], ["CH", "Switzerland", "false"], ["DE", "Germany", "true"], ["DK", "Denmark", "true"],
    ["ES", "Spain", "true"], ["FR", "France", "true"], ["GB", "United Kingdom", "false"], ["IT", "Italy", "true"],
    ["NL", "Netherlands", "true"], ["NO", "Norway", "false"], ["PL", "Poland", "true"], ["SE", "Sweden", "true"]])
names = "Ada Bela Cleo Dora Emil Fritz Gerd Hanna Ida Jonas Klara Lars Mia Nils Olga Paul Quirin Rosa Sven Tilda".split()
cc = ["DE", "AT", "FR", "CH", "GB"]
seed("raw_customers", ["id", "full_name", "e_mail", "country", "signed_up", "changed_at"], [
    [i + 1, f"{n} {'ABCDEFGHJK'[i % 10]}.", "" if i % 9 == 8 else f"{n.lower()}@example.org", cc[i % 5],
     (dt.date(2025, 1, 3) + dt.timedelta(days=3 * i)).strftime("%d.%m.%Y"),
     (dt.datetime(2025, 3, 5, 8) + dt.timedelta(hours=5 * i)).isoformat(" ")] for i, n in enumerate(names)])
goods = [("tea", "green, 100 g"), ("tea", "black, 100 g"), ("coffee", "beans, 1 kg"), ("coffee", "ground, 250 g"), ("cup", "white"),
         ("cup", "blue"), ("pot", "glass"), ("pot", "iron"), ("filter", "paper"), ("filter", "steel"), ("honey", "lime"), ("cake", "nut")]
seed("raw_products", ["sku", "kind", "Product Name", "price_cents", "attributes"], [
    [f"P{i+1:03d}", k, f"{k} {n}", 250 + 175 * i, '{"weight": %d, "tags": ["%s", "new"]}' % (100 + 50 * i, k)] for i, (k, n) in enumerate(goods)])
seed("tax_rates", ["country", "valid_from", "rate"], [[c, "2025-01-01", r] for c, r in
    [("AT", "0.20"), ("CH", "0.081"), ("DE", "0.19"), ("FR", "0.20"), ("GB", "0.20"), ("IT", "0.22"), ("NL", "0.21"), ("ES", "0.21"), ("PL", "0.23"), ("SE", "0.25")]])
seed("shop_targets", ["month", "country", "target_cents"], [[f"2025-{m:02d}", c, 10000 + 500 * m] for m in (3, 4) for c in cc])
(here / "landing.duckdb").unlink(missing_ok=True)
c = duckdb.connect(str(here / "landing.duckdb"))
c.execute("create schema erp; create schema web")
c.execute("create table erp.orders(order_no integer, customer_id integer, sku varchar, line_no integer, qty integer, state varchar, ordered_at timestamp, updated_at timestamp, _loaded_at timestamp)")
o = []
for i in range(40):
    t = dt.datetime(2025, 3, 1, 9, 15) + dt.timedelta(hours=6 * i, minutes=7 * i)
    no = 1001 + i * 2 // 3
    o.append([no, R.randint(1, 18), f"P{R.randint(1,12):03d}", 1, R.randint(1, 4), R.choice(["placed", "shipped", "returned", "placed"]), t, t + dt.timedelta(hours=R.randint(1, 30)), t + dt.timedelta(hours=31)])
seen, cust = {}, {}
for r in o:
    seen[r[0]] = seen.get(r[0], 0) + 1; r[3] = seen[r[0]]; r[1] = cust.setdefault(r[0], r[1])
c.executemany("insert into erp.orders values (?,?,?,?,?,?,?,?,?)", o)
c.execute("create table erp.pay(pay_id integer, order_no integer, method varchar, amount_cents bigint, paid_at timestamptz, _loaded_at timestamp)")
c.execute("set timezone='UTC'")
orders = sorted({r[0]: r for r in o}.values(), key=lambda r: r[0])
p = []
for i, r in enumerate(orders + orders[:8]):
    p.append([5001 + i, r[0], R.choice(["card", "transfer", "voucher"]), R.randint(300, 4000), r[6] + dt.timedelta(minutes=R.randint(1, 600)), r[6] + dt.timedelta(hours=31)])
c.executemany("insert into erp.pay values (?,?,?,?,?,?)", p)
c.execute('create table web."Page Events"(event_id varchar, "User Id" integer, kind varchar, happened_at timestamp, payload json, _loaded_at timestamp)')
for i in range(40):
    t = dt.datetime(2025, 3, 1, 10) + dt.timedelta(hours=5 * i, minutes=R.randint(0, 59))
    c.execute('insert into web."Page Events" values (?,?,?,?,?,?)', [f"e{i:03d}", R.randint(1, 20), R.choice(["view", "cart", "buy"]), t,
              '{"page": "/%s", "ms": %d}' % (R.choice(["home", "tea", "cups"]), R.randint(10, 900)), t + dt.timedelta(minutes=20)])
c.execute("checkpoint"); c.close()
