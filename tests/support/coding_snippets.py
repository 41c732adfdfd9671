"""Code as models write it, over the tables `TITANIC` and `SHOP`: honest, and not.

Every honest one may run; every other one must be refused, by the rule that it names.
"""

from __future__ import annotations

from typing import Final

TITANIC: Final = {
    "titanic": [
        *("PassengerId", "Survived", "Pclass", "Name", "Sex", "Age"),
        *("SibSp", "Parch", "Fare", "Embarked", "Cabin"),
    ]
}
SHOP: Final = {
    "sales": ["order_id", "customer_id", "product", "quantity", "price", "date", "region"],
    "customers": ["customer_id", "name", "country", "segment"],
}

HONEST: Final[dict[str, str]] = {
    "one line": 'result = df["Fare"].mean()',
    "rounded": 'result = round(float(df["Fare"].mean()), 2)',
    "an attribute": "result = df.Fare.median()",
    "step by step": 'fares = df["Fare"]\nmean = fares.mean()\nresult = mean',
    "by name": 'frame = tables["titanic"]\nresult = frame["Age"].max()',
    "by its alias": 'result = datasets["titanic"]["Age"].min()',
    "imports": "import pandas as pd\nimport numpy as np\nresult = np.mean(df['Fare'])",
    "from imports": (
        "from scipy.stats import pearsonr\nr, p = pearsonr(df['Age'], df['Fare'])\n"
        "result = {'r': r, 'p': p}"
    ),
    "a mapping": "result = {'mean': df.Fare.mean(), 'std': df.Fare.std()}",
    "a mapping filled": "result = {}\nresult['mean'] = df['Fare'].mean()",
    "a mapping filled in a loop": (
        "result = {}\nfor c in ['Age', 'Fare']:\n    result[c] = df[c].mean()"
    ),
    "a mapping updated": "result = {}\nresult.update({'a': df.Age.mean()})",
    "a list appended to": "result = []\nfor c in df.columns:\n    result.append(df[c].nunique())",
    "dict()": "result = dict(mean=df.Fare.mean(), n=len(df))",
    "a comprehension": "result = {c: df[c].isna().sum() for c in df.columns}",
    "a comprehension over groups": (
        "result = {str(k): g['Fare'].mean() for k, g in df.groupby('Pclass')}"
    ),
    "a nested comprehension": "result = [[v for v in df[c]] for c in ['Age', 'Fare']]",
    "a group-by": "result = df.groupby('Sex')['Survived'].mean()",
    "a named aggregate": (
        "result = df.groupby('Sex').agg(mean_fare=('Fare', 'mean')).reset_index()\n"
        "result = result.sort_values('mean_fare')"
    ),
    "a named aggregate read back": (
        "g = df.groupby('Sex').agg(total=('Fare', 'sum'))\nresult = g['total'].max()"
    ),
    "a filter": "result = len(df[df['Age'] > 30])",
    "a filter by loc": "result = df.loc[df['Age'] > 30, 'Fare'].mean()",
    "a query": "adults = df.query('Age >= 18')\nresult = adults['Fare'].mean()",
    "intervals": (
        "bins = [0, 12, 19, 59, 120]\nlabels = ['Child', 'Teenager', 'Adult', 'Elderly']\n"
        "df['AgeGroup'] = pd.cut(df['Age'], bins=bins, labels=labels)\n"
        "result = df.groupby('AgeGroup')['Fare'].mean().to_dict()"
    ),
    "many intervals": (
        "edges = np.array([0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70])\n"
        "result = pd.cut(df['Age'], edges).value_counts()"
    ),
    "a mapping of codes": (
        "names = {'S': 'Southampton', 'C': 'Cherbourg', 'Q': 'Queenstown'}\n"
        "df['Port'] = df['Embarked'].map(names)\nresult = df['Port'].value_counts().idxmax()"
    ),
    "a table to look things up in": (
        "classes = pd.DataFrame({'Pclass': [1, 2, 3], 'label': ['first', 'second', 'third']})\n"
        "merged = df.merge(classes, on='Pclass')\nresult = merged.groupby('label')['Fare'].mean()"
    ),
    "a new column": (
        "df['FamilySize'] = df['SibSp'] + df['Parch']\nresult = df['FamilySize'].corr(df['Fare'])"
    ),
    "a new column by assign": (
        "d = df.assign(FamilySize=df.SibSp + df.Parch)\nresult = d['FamilySize'].mean()"
    ),
    "a new column by loc": ("df.loc[df['Age'] < 18, 'Minor'] = 1\nresult = df['Minor'].sum()"),
    "a new column by insert": (
        "df.insert(0, 'Ratio', df['Fare'] / df['Age'])\nresult = df['Ratio'].max()"
    ),
    "new columns of a name that is computed": (
        "for c in ['Age', 'Fare']:\n    df[c + '_z'] = (df[c] - df[c].mean()) / df[c].std()\n"
        "result = df['Age_z'].max()"
    ),
    "columns renamed": ("df = df.rename(columns={'Fare': 'Price'})\nresult = df['Price'].mean()"),
    "columns renamed in place": (
        "df.rename(columns=str.lower, inplace=True)\nresult = df['fare'].mean()"
    ),
    "columns set": "df.columns = [c.lower() for c in df.columns]\nresult = df['fare'].mean()",
    "columns stripped": "df.columns = df.columns.str.strip()\nresult = df['Fare '.strip()].mean()",
    "dummies": ("d = pd.get_dummies(df, columns=['Sex'])\nresult = d['Sex_male'].mean()"),
    "a pivot": (
        "p = df.pivot_table(index='Pclass', columns='Sex', values='Survived')\n"
        "result = p['female'].max()"
    ),
    "reset_index": ("c = df['Embarked'].value_counts().reset_index()\nresult = c['count'].iloc[0]"),
    "describe": "result = df['Fare'].describe()['75%']",
    "quantiles": (
        "q1, q3 = df['Fare'].quantile([0.25, 0.75])\niqr = q3 - q1\n"
        "result = int(((df.Fare < q1 - 1.5 * iqr) | (df.Fare > q3 + 1.5 * iqr)).sum())"
    ),
    "a decision": (
        "p = scipy.stats.shapiro(df['Fare'].dropna())[1]\n"
        "result = 'Normal' if p > 0.05 else 'Non-normal'"
    ),
    "a decision in blocks": (
        "from scipy import stats\n_, p = stats.normaltest(df['Fare'])\n"
        "if p < 0.05:\n    result = 'not normal'\nelse:\n    result = 'normal'"
    ),
    "a decision with settings": (
        "alpha = 0.05\n_, p = scipy.stats.shapiro(df['Age'].dropna())\n"
        "result = {'p_value': p, 'alpha': 0.05, 'normal': p > alpha}"
    ),
    "a threshold repeated": (
        "z = (df.Fare - df.Fare.mean()) / df.Fare.std()\n"
        "result = {'threshold': 3, 'outliers': int((z.abs() > 3).sum())}"
    ),
    "a count in a loop": (
        "n = 0\nfor age in df['Age']:\n    if age > 30:\n        n += 1\nresult = n"
    ),
    "a loop over rows": (
        "total = 0.0\nfor _, row in df.iterrows():\n    total += row['Fare']\nresult = total"
    ),
    "a loop that looks for the best": (
        "best, best_value = None, -1\nfor c in ['Age', 'Fare']:\n    if df[c].std() > best_value:\n"
        "        best, best_value = c, df[c].std()\nresult = best"
    ),
    "while": ("i = 0\nwhile df['Fare'].iloc[i] > 7:\n    i += 1\nresult = i"),
    "a function": (
        "def mean_of(frame, column):\n    return frame[column].mean()\nresult = mean_of(df, 'Fare')"
    ),
    "a function without parameters": "def go_():\n    return df['Fare'].mean()\nresult = go_()",
    "a function that uses another": (
        "def clean(d):\n    return d.dropna()\ndef total(d):\n    return clean(d)['Fare'].sum()\n"
        "result = total(df)"
    ),
    "a function that decides": (
        "def verdict(p):\n    if p < 0.05:\n        return 'yes'\n    return 'no'\n"
        "result = verdict(scipy.stats.shapiro(df.Fare)[1])"
    ),
    "a function that fills": (
        "out = {}\ndef add(name):\n    out[name] = df[name].mean()\nadd('Age')\nadd('Fare')\n"
        "result = out"
    ),
    "a function that is called back": (
        "def add(g):\n    rows.append(g['Fare'].mean())\nrows = []\n"
        "for _, g in df.groupby('Pclass'):\n    add(g)\nresult = rows"
    ),
    "apply with a function that collects": (
        "found = []\ndef look(row):\n    found.append(row['Fare'] * 2)\n    return 0\n"
        "df.apply(look, axis=1)\nresult = max(found)"
    ),
    "a global": (
        "result = None\ndef main():\n    global result\n    result = df['Fare'].mean()\nmain()"
    ),
    "a main function": (
        "def main():\n    return {'n': len(df)}\n\nif __name__ == '__main__':\n"
        "    result = main()\n"
    ),
    "a default argument": "def f(d=df):\n    return d['Fare'].sum()\nresult = f()",
    "recursion": (
        "def down(n):\n    return 0 if n == 0 else df['Fare'].iloc[n] + down(n - 1)\n"
        "result = down(3)"
    ),
    "a generator": (
        "def means():\n    for c in ['Age', 'Fare']:\n        yield df[c].mean()\n"
        "result = list(means())"
    ),
    "a lambda": "f = lambda d: d['Fare'].mean()\nresult = f(df)",
    "apply with a lambda": (
        "df['Adult'] = df['Age'].apply(lambda a: 1 if a >= 18 else 0)\nresult = df['Adult'].sum()"
    ),
    "a class": (
        "class Stats:\n    def __init__(self, d):\n        self.d = d\n"
        "    def mean(self):\n        return self.d['Fare'].mean()\nresult = Stats(df).mean()"
    ),
    "a class over the global frame": (
        "class Stats:\n    def mean(self):\n        return df['Fare'].mean()\ns = Stats()\n"
        "result = s.mean()"
    ),
    "a class attribute": (
        "class Held:\n    value = 0\nHeld.value = df['Fare'].mean()\nresult = Held.value"
    ),
    "a walrus": "if (m := df['Fare'].mean()) > 10:\n    pass\nresult = m",
    "unpacking": "lo, hi = df['Fare'].min(), df['Fare'].max()\nresult = hi - lo",
    "starred": "first, *rest = df['Fare'].tolist()\nresult = sum(rest)",
    "several targets": "result = answer = df['Fare'].sum()",
    "annotated": "result: float = df['Fare'].mean()",
    "augmented": "result = 0\nresult += df['Fare'].sum()",
    "a text": "result = f\"The mean is {df['Fare'].mean():.2f}\"",
    "a text in parts": "m = df.Fare.mean()\nresult = 'Mean: ' + str(round(m, 2))",
    "try": ("try:\n    result = df['Fare'].mean()\nexcept Exception as e:\n    result = str(e)"),
    "try with a fallback": (
        "try:\n    x = df['Age'].astype(int).mean()\nexcept ValueError:\n    x = None\nresult = x"
    ),
    "with": (
        "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n"
        "    result = df['Fare'].mean()"
    ),
    "match": (
        "match df['Pclass'].nunique():\n    case 3:\n        result = 'three'\n"
        "    case n:\n        result = n"
    ),
    "an assertion": "assert 'Fare' in df.columns\nresult = df['Fare'].sum()",
    "a column that may be missing": (
        "col = 'Fare' if 'Fare' in df.columns else 'Price'\nresult = df[col].mean()"
    ),
    "numbers out of texts": (
        "import re\nages = [int(re.search(r'\\d+', str(n)).group()) for n in df['Age'].dropna()]\n"
        "result = max(ages)"
    ),
    "a model": (
        "from sklearn.linear_model import LinearRegression\n"
        "from sklearn.model_selection import train_test_split\n"
        "X = df[['Pclass', 'Age', 'SibSp']].fillna(0)\ny = df['Survived']\n"
        "a, b, c, d = train_test_split(X, y, test_size=0.2, random_state=42)\n"
        "m = LinearRegression()\nm.fit(a, c)\nresult = float((m.predict(b).round() == d).mean())"
    ),
    "a model that is fitted": (
        "from sklearn.cluster import KMeans\nm = KMeans(n_clusters=3, random_state=0, n_init=10)\n"
        "m.fit(df[['Age', 'Fare']].dropna())\nresult = m.inertia_"
    ),
    "statsmodels": (
        "import statsmodels.api as sm\nX = sm.add_constant(df['Age'].fillna(0))\n"
        "fit = sm.OLS(df['Fare'], X).fit()\nresult = fit.rsquared"
    ),
    "a formula": (
        "import statsmodels.formula.api as smf\nfit = smf.ols('Fare ~ Age', data=df).fit()\n"
        "result = fit.params.to_dict()"
    ),
    "bootstrap": (
        "rng = np.random.default_rng(0)\nv = df['Fare'].dropna().to_numpy()\n"
        "result = float(np.mean([rng.choice(v, len(v)).mean() for _ in range(100)]))"
    ),
    "random numbers compared with": (
        "noise = np.random.normal(0, 1, 1000)\nresult = scipy.stats.ks_2samp(df['Fare'], noise)[1]"
    ),
    "a frame of findings": (
        "result = pd.DataFrame({'measure': ['mean', 'std'], "
        "'value': [df.Fare.mean(), df.Fare.std()]})"
    ),
    "a frame of records": (
        "rows = []\nfor c in ['Age', 'Fare']:\n"
        "    rows.append({'column': c, 'mean': df[c].mean()})\n"
        "result = pd.DataFrame(rows)"
    ),
    "the shape": "result = df.shape[0]",
    "columns": "result = [c for c in df.columns if df[c].dtype == 'object']",
    "the number of tables": "result = len(tables)",
    "missing values": "result = df.isnull().sum().to_dict()",
    "a bar chart": "fig = px.bar(df, x='Sex', y='Fare')",
    "a chart of a group-by": (
        "g = df.groupby('Sex', as_index=False)['Fare'].mean()\n"
        "fig = px.bar(g, x='Sex', y='Fare', title='Fares')\nresult = g"
    ),
    "a chart in parts": (
        "fig = go.Figure()\nfig.add_trace(go.Scatter(x=df['Age'], y=df['Fare'], mode='markers'))\n"
        "fig.update_layout(title='Age and fare')"
    ),
    "subplots of plotly": (
        "from plotly.subplots import make_subplots\nfig = make_subplots(rows=1, cols=2)\n"
        "fig.add_trace(go.Histogram(x=df['Age']), row=1, col=1)\n"
        "fig.add_trace(go.Histogram(x=df['Fare']), row=1, col=2)"
    ),
    "matplotlib": ("fig, ax = plt.subplots()\nax.hist(df['Age'].dropna())\nax.set_title('Age')"),
    "matplotlib with several axes": (
        "fig, axes = plt.subplots(1, 2)\naxes[0].hist(df['Age'])\naxes[1].hist(df['Fare'])"
    ),
    "axes in a loop": (
        "fig, axes = plt.subplots(1, 2)\nfor ax, c in zip(axes, ['Age', 'Fare']):\n"
        "    ax.hist(df[c])"
    ),
    "axes of a figure": (
        "import matplotlib.pyplot as plt\nfig = plt.figure(figsize=(8, 4))\n"
        "ax = fig.add_subplot(111)\nax.plot(df['Fare'])"
    ),
    "the current figure": "plt.figure()\nplt.scatter(df['Age'], df['Fare'])\nfig = plt.gcf()",
    "the current figure taken first": ("fig = plt.figure()\nplt.hist(df['Age'])\nplt.title('Age')"),
    "a frame draws": "df['Age'].plot.hist()\nfig = plt.gcf()",
    "a frame draws on axes": "fig, ax = plt.subplots()\ndf.plot(x='Age', y='Fare', ax=ax)",
    "axes of a frame's plot": "ax = df['Fare'].plot(kind='hist')\nfig = ax.get_figure()",
    "a list of charts": (
        "fig = [px.histogram(df, x=c) for c in ['Age', 'Fare']]\n"
        "result = df[['Age', 'Fare']].mean()"
    ),
    "a chart beside a remark": (
        "fig = px.scatter(df, x='Age', y='Fare')\nresult = 'See the chart'"
    ),
    "a chart beside nothing": "fig = px.scatter(df, x='Age', y='Fare')\nresult = None",
    "an optional module": (
        "try:\n    import seaborn as sns\nexcept ImportError:\n    sns = None\n"
        "result = df['Fare'].mean()"
    ),
    "io for a report": (
        "import io\nbuffer = io.StringIO()\ndf.info(buf=buffer)\nresult = buffer.getvalue()"
    ),
    "a column that is called open": (
        "d = df.rename(columns={'Fare': 'open'})\nresult = d.open.mean()"
    ),
    "a name that shadows a builtin": ("input = df['Fare']\nresult = input.mean()"),
    "get of a mapping": (
        "codes = {'male': 0, 'female': 1}\nresult = sum(codes.get(s, 0) for s in df['Sex'])"
    ),
    "a pipeline": (
        "result = (\n    df\n    .dropna(subset=['Age'])\n"
        "    .assign(decade=lambda d: d['Age'] // 10)\n"
        "    .groupby('decade')['Fare']\n    .mean()\n    .round(2)\n    .to_dict()\n)"
    ),
    "a sum of a loop over columns": (
        "columns = ['Age', 'Fare']\nsummary = {c: {'mean': df[c].mean()} for c in columns}\n"
        "result = summary['Fare']['mean']"
    ),
    "zip": "result = [a * b for a, b in zip(df['SibSp'], df['Parch'])]",
    "enumerate": (
        "at = None\nfor i, v in enumerate(df['Fare']):\n    if v > 100:\n        at = i\n"
        "        break\n"
        "result = at"
    ),
    "reduce": (
        "from functools import reduce\nresult = reduce(lambda a, b: a + b, df['Fare'].fillna(0))"
    ),
    "collections": (
        "from collections import Counter, defaultdict\nheld = defaultdict(list)\n"
        "for s, f in zip(df['Sex'], df['Fare']):\n    held[s].append(f)\n"
        "result = {k: sum(v) / len(v) for k, v in held.items()}"
    ),
    "a date": (
        "from datetime import datetime\nthis_year = 2024\nresult = this_year - df['Age'].max()"
    ),
    "deleting": "tmp = df.copy()\ndel tmp['Name']\nresult = tmp.shape[1]",
    "printing besides": "print(df.head())\nx = df['Fare'].mean()\nprint('mean', x)\nresult = x",
    "locals": "locals()['result'] = df['Fare'].mean()",
    "a closure": (
        "def outer():\n    base = df['Fare'].mean()\n    def inner():\n        return base * 2\n"
        "    return inner()\nresult = outer()"
    ),
    "a ratio of a constant": "result = 100 * (df['Survived'] == 1).mean()",
    "a part that is the question's": "result = {'year': 1912, 'n': len(df)}",
    "nothing is found": (
        "old = df[df['Age'] > 200]\nresult = old['Name'].tolist() if len(old) else 'nobody'"
    ),
}

HONEST_WITH_TWO: Final[dict[str, str]] = {
    "a merge": (
        "m = tables['sales'].merge(tables['customers'], on='customer_id')\n"
        "m['revenue'] = m['quantity'] * m['price']\nresult = m.groupby('country')['revenue'].sum()"
    ),
    "suffixes of a merge": (
        "m = tables['sales'].merge(tables['customers'], on='customer_id', suffixes=('_s', '_c'))\n"
        "result = m['name_c'].nunique() if 'name_c' in m else m['name'].nunique()"
    ),
    "df bound": "df = tables['sales'].copy()\nresult = df['price'].mean()",
    "both by name": (
        "sales, customers = tables['sales'], tables['customers']\n"
        "result = len(sales) / len(customers)"
    ),
    "a loop over tables": "result = {name: len(t) for name, t in tables.items()}",
    "get": "s = tables.get('sales')\nresult = s['price'].sum()",
    "a table of its own": (
        "tables['both'] = pd.concat([tables['sales'], tables['customers']])\n"
        "result = len(tables['both'])"
    ),
    "dates": (
        "s = tables['sales']\ns['date'] = pd.to_datetime(s['date'])\n"
        "s['month'] = s['date'].dt.to_period('M')\nresult = s.groupby('month')['price'].sum()"
    ),
    "a parameter called df": (
        "def total(df):\n    return df['price'].sum()\nresult = total(tables['sales'])"
    ),
    "one name for two tables": (
        "t = tables['sales']\na = t['price'].mean()\nt = tables['customers']\n"
        "result = {'price': a, 'countries': t['country'].nunique()}"
    ),
}

CHEATS: Final[dict[str, tuple[str, str]]] = {
    "a number": ("not_from_tables", "result = 42.3"),
    "the frame touched first": ("not_from_tables", "len(df)\nresult = 42.3"),
    "the frame used, then a number": (
        "not_from_tables",
        'x = df["Age"].mean()\nprint(x)\nresult = 42.3',
    ),
    "overwritten": ("not_from_tables", "result = df['Fare'].mean()\nresult = 34.65"),
    "overwritten under True": (
        "not_from_tables",
        "result = df['Fare'].mean()\nif True:\n    result = 34.65",
    ),
    "a text": ("not_from_tables", "result = 'The mean fare is 34.65'"),
    "a mapping of numbers": ("not_from_tables", "result = {'mean': 34.65, 'std': 49.7}"),
    "one part of a mapping": (
        "not_from_tables",
        "result = {'mean': 34.65, 'n': len(df)}",
    ),
    "one part set later": (
        "not_from_tables",
        "result = {'n': len(df)}\nresult['mean'] = -34.65",
    ),
    "a name between": ("not_from_tables", "value = 34.65\nresult = value"),
    "arithmetic of numbers": ("not_from_tables", "a = 3\nb = 4\nresult = (a ** 2 + b ** 2) ** 0.5"),
    "a function that returns a number": (
        "not_from_tables",
        "def mean(frame):\n    return 34.65\nresult = mean(df)",
    ),
    "a function that looks busy": (
        "not_from_tables",
        (
            "def mean(frame):\n    total = frame['Fare'].sum()\n    print(total)\n"
            "    return 34.65\n"
            "result = mean(df)"
        ),
    ),
    "a lambda that returns a number": ("not_from_tables", "f = lambda: 34.65\nresult = f()"),
    "a lambda that is given the frame": ("not_from_tables", "result = (lambda d: 34.65)(df)"),
    "a named lambda that is given the frame": (
        "not_from_tables",
        "f = lambda d: 34.65\nresult = f(df)",
    ),
    "a global set to a number": (
        "not_from_tables",
        "def main():\n    global result\n    n = len(df)\n    result = 34.65\nmain()",
    ),
    "a loop over written numbers": (
        "not_from_tables",
        "total = 0\nfor v in [1, 2, 3]:\n    total += v\nresult = total",
    ),
    "unpacked": ("not_from_tables", "n, result = len(df), 34.65"),
    "numpy of numbers": ("not_from_tables", "result = round(np.sqrt(2) * 3, 2)"),
    "the frame forgotten": ("not_from_tables", "df = None\nresult = 34.65"),
    "a random number": ("not_from_tables", "import random\nresult = random.random()"),
    "printed only": ("no_result", "print(df['Fare'].mean())"),
    "another name": ("no_result", "answer = df['Fare'].mean()"),
    "within a function": (
        "no_result",
        "def main():\n    result = df['Fare'].mean()\nmain()",
    ),
    "an expression only": ("no_result", "df['Fare'].mean()"),
    "deleted again": ("no_result", "result = df['Fare'].mean()\ndel result"),
    "a frame of literals": (
        "invented",
        (
            "df = pd.DataFrame({'Age': [22, 38, 26], 'Fare': [7.25, 71.28, 7.92]})\n"
            "result = df['Fare'].mean()"
        ),
    ),
    "a frame of literals under another name": (
        "invented",
        (
            "data = {'Fare': [7.25, 71.28, 7.92]}\nd = pd.DataFrame({'Fare': [7.25, 71.28]})\n"
            "result = d['Fare'].mean()"
        ),
    ),
    "a frame of records": (
        "invented",
        (
            "d = pd.DataFrame([{'Age': 22, 'Fare': 7.25}, {'Age': 38, 'Fare': 71.28}])\n"
            "d['n'] = len(df)\nresult = d['Fare'].mean()"
        ),
    ),
    "a frame with columns=": (
        "invented",
        (
            "d = pd.DataFrame([[22, 7.25], [38, 71.28]], columns=['Age', 'Fare'])\n"
            "d['n'] = len(df)\nresult = d['Fare'].mean()"
        ),
    ),
    "an array of literals": (
        "invented",
        "v = np.array([7.25, 71.28, 7.92])\nresult = v.mean()",
    ),
    "a long series beside the frame": (
        "invented",
        (
            "s = pd.Series([1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 8])\n"
            "result = s.mean() + 0 * len(df)"
        ),
    ),
    "a random frame": (
        "invented",
        "df = pd.DataFrame({'Fare': np.random.rand(100)})\nresult = df['Fare'].mean()",
    ),
    "tables replaced": (
        "invented",
        (
            "tables = {'titanic': pd.DataFrame({'Fare': [1, 2, 3]})}\n"
            "result = tables['titanic']['Fare'].mean()"
        ),
    ),
    "a table replaced": (
        "invented",
        (
            "tables['titanic'] = pd.DataFrame({'Fare': [1, 2, 3]})\n"
            "result = tables['titanic']['Fare'].mean()"
        ),
    ),
    "a sample set": (
        "invented",
        (
            "from sklearn.datasets import load_iris\nd = load_iris(as_frame=True).frame\n"
            "result = len(d) + len(df)"
        ),
    ),
    "a sample set of plotly": ("invented", "d = px.data.iris()\nresult = d.mean() + len(df)"),
    "a chart of literals": (
        "not_from_tables",
        "fig = go.Figure(data=[go.Bar(x=['a', 'b'], y=[3, 4])])",
    ),
    "a chart of literals beside a real value": (
        "not_from_tables",
        "result = df['Fare'].mean()\nfig = px.bar(x=['a', 'b'], y=[3, 4])",
    ),
    "a figure beside a real chart": (
        "not_from_tables",
        "fig = px.scatter(df, x='Age', y='Fare')\nresult = 'The correlation is 0.3'",
    ),
    "matplotlib of literals": (
        "not_from_tables",
        "print(len(df))\nfig, ax = plt.subplots()\nax.bar(['a', 'b'], [1, 2])",
    ),
    "a file": ("files", "df = pd.read_csv('titanic.csv')\nresult = df['Fare'].mean()"),
    "a file by another name": (
        "files",
        "import pandas\nd = pandas.read_excel('t.xlsx')\nresult = d['Fare'].mean() + len(df)",
    ),
    "text as a file": (
        "files",
        "import io\nd = pd.read_csv(io.StringIO('a,b\\n1,2'))\nresult = d['a'].mean()",
    ),
    "a pickle": ("files", "result = pd.read_pickle('x')"),
    "open": ("files", "with open('/etc/passwd') as f:\n    result = f.read() + str(len(df))"),
    "numpy's loader": ("files", "v = np.loadtxt('x.txt')\nresult = v.mean() + len(df)"),
    "numpy's other loader": ("files", "v = np.load('x.npy')\nresult = v.mean() + len(df)"),
    "pathlib": ("import", "from pathlib import Path\nresult = len(df)"),
    "os": ("import", "import os\nresult = len(df) + len(os.environ)"),
    "os under another name": ("import", "import os as np2\nresult = len(df)"),
    "a submodule": ("import", "import os.path\nresult = len(df)"),
    "subprocess": ("import", "import subprocess\nresult = subprocess.run(['ls']) or len(df)"),
    "requests": ("import", "import requests\nresult = requests.get('http://x').json() or len(df)"),
    "urllib": ("import", "from urllib.request import urlopen\nresult = len(df)"),
    "sockets": ("import", "import socket\nresult = len(df)"),
    "ctypes": ("import", "import ctypes\nresult = len(df)"),
    "sys": ("import", "import sys\nresult = len(sys.modules) + len(df)"),
    "pickle": ("import", "import pickle\nresult = len(pickle.dumps(df))"),
    "seaborn": ("import", "import seaborn as sns\nsns.barplot(data=df)\nfig = sns"),
    "duckdb": ("import", "import duckdb\nresult = duckdb.sql('select 1 from df')"),
    "exec": ("insides", "exec('result = len(df)')\nresult = len(df)"),
    "eval": ("insides", "result = eval('len(df)')"),
    "__import__": ("insides", "__import__('os').system('ls')\nresult = len(df)"),
    "through pandas": ("insides", "pd.io.common.os.system('ls')\nresult = len(df)"),
    "subclasses": ("insides", "result = ().__class__.__base__.__subclasses__() + [len(df)]"),
    "globals of a function": ("insides", "result = pd.DataFrame.__init__.__globals__ or df"),
    "input": ("files", "n = input()\nresult = len(df)"),
    "no Python": ("syntax", "result = df['Fare'.mean("),
    "prose": ("syntax", "The mean fare is computed as follows"),
    "cut off": ("syntax", "x = df['Fare'].mean()\nresult = round(x,"),
    "empty": ("syntax", ""),
    "a column that is not there": ("unknown_column", "result = df['Fair'].mean()"),
    "a column in another case": ("unknown_column", "result = df['fare'].mean()"),
    "a column among others": ("unknown_column", "result = df[['Age', 'Fares']].mean()"),
    "a column after a filter": (
        "unknown_column",
        "adults = df[df['Age'] > 18].copy()\nresult = adults['Revenue'].mean()",
    ),
    "a column to group by": ("unknown_column", "result = df.groupby('Gender')['Fare'].mean()"),
    "a column by loc": ("unknown_column", "result = df.loc[df['Age'] > 3, 'Price'].sum()"),
    "a table that is not there": ("unknown_table", "result = tables['sales']['price'].sum()"),
}

CHEATS_WITH_TWO: Final[dict[str, tuple[str, str]]] = {
    "df is not bound": ("unknown_table", "result = df['price'].sum()"),
    "a table misspelt": ("unknown_table", "result = datasets['sale']['price'].sum()"),
    "a column of the other table": (
        "unknown_column",
        "result = tables['sales']['country'].nunique()",
    ),
    "a column of neither": (
        "unknown_column",
        "s = tables['sales']\nresult = (s['revenue'] * 2).sum()",
    ),
}
